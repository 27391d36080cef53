#include "fem/operator/operator.hpp"

#include "fem/mesh/communicator.hpp"
#include "fem/mesh/ghosts.hpp"
#include "fem/operator/mirrors.hpp"
#include "fem/operator/plain_quadrature.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace haloscope::fem {

namespace {

// Groups work items of unlike cost into units of about the same cost, which the overlap library splits.
class Units {
public:
  // The largest number of units, each at least as large as the largest item.
  explicit Units(std::span<const float> weights) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double largest = weights.empty() ? 1 : std::ranges::max(weights);
    const auto count = static_cast<std::size_t>(total / largest);
    double sum = 0;
    for (std::size_t item = 0; item < weights.size(); item++) {
      if (sum * static_cast<double>(count) >= static_cast<double>(begins_.size()) * total)
        begins_.push_back(item);
      sum += weights[item];
    }
    begins_.push_back(weights.size());
  }

  [[nodiscard]] std::size_t count() const noexcept { return begins_.size() - 1; }
  // The first item of a unit; of count(): the number of items.
  [[nodiscard]] std::size_t begin(std::size_t unit) const noexcept { return begins_[unit]; }

private:
  std::vector<std::size_t> begins_;
};

} // namespace

// The parts of an operator, and the steps of an application.
struct Operator::Work {
  Work(const Forest &forest, const Nodes &nodes, const Coefficient &kappa, const OperatorSettings &settings);

  void run(const double *x, double *y, int phase);
  void run_with_ghosts(const double *x, double *y, int phase); // of a consistent one, x without ghosts
  void diagonal(double *result);

  // For the overlap library.
  void independent(std::size_t begin, std::size_t end);
  void dependent();
  void stage(haloscope_overlap_stage which);

  std::size_t owned, local;
  bool consistent;
  std::vector<std::uint8_t> masked;
  std::vector<std::int32_t> fixed;                 // owned nodes among them
  std::vector<double> corners, sizes, coefficient; // the plans read them
  Ghosts ghosts;
  std::unique_ptr<Mirrors> mirrors;
  std::unique_ptr<Plan> interior;
  std::unique_ptr<Units> units;
  std::unique_ptr<Overlap> overlap;
  Overlap::Times times{};
  std::vector<Overlap::Times> *history;

private:
  void prepare(const Cells &cells, std::span<const char> mirror, const Choices &choices);
  void add_received();
  void finish_result();
  void send_waiting_times();
  void receive_waiting_times();

  const double *x_ = nullptr;
  double *y_ = nullptr;
  int phase_ = 0;
  std::vector<double> x_with_ghosts_, y_with_ghosts_;
};

namespace {

std::size_t index(std::int32_t node) noexcept { return static_cast<std::size_t>(node); }

// The first exchange carries the waiting times of partners in the second.
Ghosts::Extra extra(const Overlap::Settings &settings) noexcept {
  if (settings.partners == 0) return Ghosts::Extra::none;
  return settings.consistent != 0 ? Ghosts::Extra::to_owners : Ghosts::Extra::to_ghosts;
}

std::unique_ptr<Overlap> overlap_of(const Overlap::Settings &settings, std::size_t items,
                                    MPI_Comm communicator) {
  try {
    return std::make_unique<Overlap>(settings, items, communicator);
  } catch (const std::invalid_argument &wrong) { // on all ranks
    throw Error(wrong.what());
  }
}

} // namespace

Operator::Work::Work(const Forest &forest, const Nodes &nodes, const Coefficient &kappa,
                     const OperatorSettings &settings)
    : owned(nodes.owned()), local(nodes.local()), consistent(settings.overlap.consistent != 0),
      masked(settings.dirichlet ? nodes.boundary(forest) : std::vector<std::uint8_t>(local)),
      ghosts(nodes.communicator(), nodes.links(), extra(settings.overlap)), history(settings.history) {
  const Geometry geometry(forest, nodes);
  coefficient = sampled(kappa, forest, geometry, nodes.degree());
  corners = geometry.all();
  sizes = forest.sizes();
  for (std::size_t node = 0; node < owned; node++)
    if (masked[node] != 0) fixed.push_back(static_cast<std::int32_t>(node));
  prepare({nodes.degree(), forest.cubes(), nodes.element_nodes(), nodes.faces(), forest.leaves(), corners,
           sizes, coefficient},
          nodes.mirror(), {settings.part, settings.transposed, settings.bricks, owned});
  overlap = overlap_of(settings.overlap, units->count(), nodes.communicator());
}

void Operator::Work::prepare(const Cells &cells, std::span<const char> mirror, const Choices &choices) {
  mirrors = std::make_unique<Mirrors>(cells, mirror, ghosts.owned(), owned, masked, choices);
  std::vector<std::int32_t> others;
  for (std::size_t element = 0; element < mirror.size(); element++)
    if (mirror[element] == 0) others.push_back(static_cast<std::int32_t>(element));
  interior = std::make_unique<Plan>(cells, others, masked, choices);
  units = std::make_unique<Units>(interior->weights());
}

void Operator::Work::run(const double *x, double *y, int phase) {
  x_ = x;
  y_ = y;
  phase_ = phase;
  if (units->count() == 0) std::fill_n(y, owned, 0.0); // nobody else does
  times = overlap->run(*this, ghosts.to_ghosts.receives, ghosts.to_ghosts.sends, ghosts.to_owners.receives,
                       ghosts.to_owners.sends, phase);
  if (history != nullptr) history->push_back(times);
}

void Operator::Work::independent(std::size_t begin, std::size_t end) {
  interior->run(units->begin(begin), units->begin(end), x_, y_);
}

void Operator::Work::dependent() {
  for (const std::int32_t node : mirrors->nodes()) mirrors->x[mirrors->place(node)] = x_[index(node)];
  if (consistent)
    for (const std::int32_t node : ghosts.ghosts()) mirrors->x[mirrors->place(node)] = x_[index(node)];
  mirrors->run();
}

// If consistent, contributions (the output) are exchanged first, then results.
void Operator::Work::stage(haloscope_overlap_stage which) {
  const auto owned_nodes = ghosts.owned(), ghost_nodes = ghosts.ghosts();
  switch (which) {
  case HALOSCOPE_OVERLAP_PACK_INPUT:
    for (std::size_t i = 0; i < owned_nodes.size(); i++)
      ghosts.to_ghosts.sent[ghosts.to_ghosts.sent_at[i]] =
          consistent ? mirrors->y[mirrors->place(owned_nodes[i])] : x_[index(owned_nodes[i])];
    if (!consistent) send_waiting_times();
    break;
  case HALOSCOPE_OVERLAP_UNPACK_INPUT:
    for (std::size_t i = 0; i < ghost_nodes.size(); i++)
      (consistent ? y_[index(ghost_nodes[i])] : mirrors->x[mirrors->place(ghost_nodes[i])]) =
          ghosts.to_ghosts.received[ghosts.to_ghosts.received_at[i]];
    consistent ? finish_result() : receive_waiting_times();
    break;
  case HALOSCOPE_OVERLAP_PACK_OUTPUT:
    for (std::size_t i = 0; i < ghost_nodes.size(); i++)
      ghosts.to_owners.sent[ghosts.to_owners.sent_at[i]] = mirrors->y[mirrors->place(ghost_nodes[i])];
    if (consistent) send_waiting_times();
    break;
  case HALOSCOPE_OVERLAP_UNPACK_OUTPUT:
    add_received();
    consistent ? receive_waiting_times() : finish_result();
    break;
  }
}

// In the order of neighbours' ranks, however they arrived. The compact result is complete after it.
void Operator::Work::add_received() {
  const auto nodes = ghosts.owned();
  for (std::size_t i = 0; i < nodes.size(); i++)
    mirrors->y[mirrors->place(nodes[i])] += ghosts.to_owners.received[ghosts.to_owners.received_at[i]];
  for (const std::int32_t node : nodes)
    if (masked[index(node)] != 0) mirrors->y[mirrors->place(node)] = x_[index(node)];
}

void Operator::Work::finish_result() {
  for (const std::int32_t node : mirrors->nodes()) y_[index(node)] += mirrors->y[mirrors->place(node)];
  for (const std::int32_t node : fixed) y_[index(node)] = x_[index(node)];
}

// The first exchange's messages go to those of whom the second one's come, in the same order.
void Operator::Work::send_waiting_times() {
  auto &first = consistent ? ghosts.to_owners : ghosts.to_ghosts;
  for (std::size_t i = 0; i < first.sent_extra.size(); i++)
    first.sent[first.sent_extra[i]] = overlap->waited(static_cast<int>(i), phase_);
}

void Operator::Work::receive_waiting_times() {
  const auto &first = consistent ? ghosts.to_owners : ghosts.to_ghosts;
  for (const std::size_t place : first.received_extra) overlap->partner_waited(first.received[place], phase_);
}

void Operator::Work::run_with_ghosts(const double *x, double *y, int phase) {
  x_with_ghosts_.resize(local);
  y_with_ghosts_.resize(local);
  std::copy_n(x, owned, x_with_ghosts_.begin());
  ghosts.forward(x_with_ghosts_.data());
  run(x_with_ghosts_.data(), y_with_ghosts_.data(), phase);
  std::copy_n(y_with_ghosts_.begin(), owned, y);
}

void Operator::Work::diagonal(double *result) {
  std::vector<double> sums(local);
  interior->diagonal(sums.data());
  std::vector<double> compact(mirrors->y.size());
  mirrors->plan().diagonal(compact.data());
  for (const std::int32_t node : mirrors->nodes()) sums[index(node)] += compact[mirrors->place(node)];
  for (const std::int32_t node : ghosts.ghosts()) sums[index(node)] = compact[mirrors->place(node)];
  ghosts.reverse(sums.data());
  std::copy_n(sums.begin(), owned, result);
  for (const std::int32_t node : fixed) result[node] = 1;
}

void lay_out(const Forest &forest, Nodes &nodes) {
  const std::vector<double> sizes = forest.sizes();
  const Cells cells{
      nodes.degree(), forest.cubes(), nodes.element_nodes(), nodes.faces(), forest.leaves(), {}, sizes, {}};
  nodes.renumber(layout(cells, nodes.mirror(), nodes.owned()));
}

Operator::Operator(const Forest &forest, const Nodes &nodes, const Coefficient &coefficient,
                   const OperatorSettings &settings)
    : work_(std::make_unique<Work>(forest, nodes, coefficient, settings)) {}
Operator::Operator(Operator &&) noexcept = default;
Operator &Operator::operator=(Operator &&) noexcept = default;
Operator::~Operator() = default;

void Operator::apply(const double *x, double *y, int phase) {
  work_->consistent ? work_->run_with_ghosts(x, y, phase) : work_->run(x, y, phase);
}

void Operator::apply_consistent(const double *x, double *y, int phase) {
  if (!work_->consistent) throw Error("operator: apply_consistent needs settings.overlap.consistent");
  work_->run(x, y, phase);
}

void Operator::diagonal(double *result) { work_->diagonal(result); }

std::size_t Operator::owned() const noexcept { return work_->owned; }
std::size_t Operator::local() const noexcept { return work_->local; }
std::span<const std::uint8_t> Operator::masked() const noexcept { return work_->masked; }
double Operator::alpha(int phase) const { return work_->overlap->alpha(phase); }
const Overlap::Times &Operator::times() const noexcept { return work_->times; }
std::size_t Operator::items() const noexcept { return work_->units->count(); }
int Operator::messages() const noexcept {
  return static_cast<int>(work_->ghosts.to_ghosts.sends.size() + work_->ghosts.to_owners.sends.size());
}
double Operator::flops() const noexcept { return work_->interior->flops() + work_->mirrors->plan().flops(); }
double Operator::bytes() const noexcept { return work_->interior->bytes() + work_->mirrors->plan().bytes(); }

} // namespace haloscope::fem
