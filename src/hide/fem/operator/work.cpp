#include "hide/fem/operator/work.hpp"

#include "hide/fem/mesh/error.hpp"
#include "hide/fem/operator/geometry.hpp"

#include <algorithm>

namespace haloscope::fem {

namespace {

std::size_t index(std::int32_t node) noexcept { return static_cast<std::size_t>(node); }

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
      channels(nodes.communicator(), nodes.links()), history(settings.history) {
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
  mirrors = std::make_unique<Mirrors>(cells, mirror, channels.owned(), owned, masked, choices);
  std::vector<std::int32_t> others;
  for (std::size_t element = 0; element < mirror.size(); element++)
    if (mirror[element] == 0) others.push_back(static_cast<std::int32_t>(element));
  interior = std::make_unique<Plan>(cells, others, masked, choices);
  units = std::make_unique<Units>(interior->weights());
}

void Operator::Work::run(const double *x, double *y, int phase) {
  x_ = x;
  y_ = y;
  if (units->count() == 0) std::fill_n(y, owned, 0.0); // nobody else does
  times = overlap->run(*this, channels.input.receives, channels.input.sends, channels.output.receives,
                       channels.output.sends, phase);
  if (history != nullptr) history->push_back(times);
}

void Operator::Work::independent(std::size_t begin, std::size_t end) {
  interior->run(units->begin(begin), units->begin(end), x_, y_);
}

void Operator::Work::dependent() {
  for (const std::int32_t node : mirrors->nodes()) mirrors->x[mirrors->place(node)] = x_[index(node)];
  if (consistent)
    for (const std::int32_t node : channels.ghosts()) mirrors->x[mirrors->place(node)] = x_[index(node)];
  mirrors->run();
}

// Consistent: contributions first, which is the output, then results.
void Operator::Work::stage(haloscope_overlap_stage which) {
  const auto owned_nodes = channels.owned(), ghosts = channels.ghosts();
  switch (which) {
  case HALOSCOPE_OVERLAP_PACK_INPUT:
    for (std::size_t i = 0; i < owned_nodes.size(); i++)
      channels.input.sent[i] =
          consistent ? mirrors->y[mirrors->place(owned_nodes[i])] : x_[index(owned_nodes[i])];
    break;
  case HALOSCOPE_OVERLAP_UNPACK_INPUT:
    for (std::size_t i = 0; i < ghosts.size(); i++)
      (consistent ? y_[index(ghosts[i])] : mirrors->x[mirrors->place(ghosts[i])]) =
          channels.input.received[i];
    if (consistent) finish_result();
    break;
  case HALOSCOPE_OVERLAP_PACK_OUTPUT:
    for (std::size_t i = 0; i < ghosts.size(); i++)
      channels.output.sent[i] = mirrors->y[mirrors->place(ghosts[i])];
    break;
  case HALOSCOPE_OVERLAP_UNPACK_OUTPUT:
    add_received();
    if (!consistent) finish_result();
    break;
  }
}

// By neighbours' ranks, whenever they came; then the compact result is whole.
void Operator::Work::add_received() {
  const auto nodes = channels.owned();
  for (std::size_t i = 0; i < nodes.size(); i++)
    mirrors->y[mirrors->place(nodes[i])] += channels.output.received[i];
  for (const std::int32_t node : nodes)
    if (masked[index(node)] != 0) mirrors->y[mirrors->place(node)] = x_[index(node)];
}

void Operator::Work::finish_result() {
  for (const std::int32_t node : mirrors->nodes()) y_[index(node)] += mirrors->y[mirrors->place(node)];
  for (const std::int32_t node : fixed) y_[index(node)] = x_[index(node)];
}

void Operator::Work::run_with_ghosts(const double *x, double *y, int phase) {
  x_with_ghosts_.resize(local);
  y_with_ghosts_.resize(local);
  std::copy_n(x, owned, x_with_ghosts_.begin());
  channels.bring(x_with_ghosts_.data());
  run(x_with_ghosts_.data(), y_with_ghosts_.data(), phase);
  std::copy_n(y_with_ghosts_.begin(), owned, y);
}

void Operator::Work::diagonal(double *result) {
  std::vector<double> sums(local);
  interior->diagonal(sums.data());
  std::vector<double> compact(mirrors->y.size());
  mirrors->plan().diagonal(compact.data());
  for (const std::int32_t node : mirrors->nodes()) sums[index(node)] += compact[mirrors->place(node)];
  for (const std::int32_t node : channels.ghosts()) sums[index(node)] = compact[mirrors->place(node)];
  channels.add(sums.data());
  std::copy_n(sums.begin(), owned, result);
  for (const std::int32_t node : fixed) result[node] = 1;
}

} // namespace haloscope::fem
