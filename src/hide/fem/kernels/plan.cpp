#include "kernels/plan.hpp"

#include "kernels/batches.hpp"
#include "kernels/clears.hpp"

#include <algorithm>
#include <map>

namespace haloscope::fem {
namespace {

using namespace kernels;

// Elements wait until as many with the same face code as there are lanes have come.
class Waiting {
public:
  template <typename Full> void add(std::uint16_t code, std::int32_t element, Full full) {
    auto &elements = of_code_[code];
    elements.push_back(element);
    if (elements.size() < lanes) return;
    full(elements);
    elements.clear();
  }
  template <typename Rest> void flush(Rest rest) {
    for (auto &[code, elements] : of_code_)
      if (!elements.empty()) rest(elements);
    of_code_.clear();
  }

private:
  std::map<std::uint16_t, std::vector<std::int32_t>> of_code_;
};

Batches batches_of(const Cells &cells, const Choices &choices, std::span<const std::int32_t> elements,
                   std::span<const std::uint8_t> masked) {
  Batches batches = no_batches(cells, choices);
  Waiting waiting;
  const auto add = [&](const std::vector<std::int32_t> &full) { add_batch(batches, cells, masked, full); };
  for (const std::int32_t element : elements)
    waiting.add(cells.faces.empty() ? std::uint16_t{0} : cells.faces[static_cast<std::size_t>(element)],
                element, add);
  waiting.flush(add);
  return batches;
}

} // namespace

struct Plan::State {
  Cells cells;
  Choices choices;
  std::vector<std::int32_t> elements;
  std::vector<std::uint8_t> masked;
  Kernel kernel;
  Batches batches;
  std::vector<float> weights;
  Clears clears;
};

Plan::Plan(const Cells &cells, std::span<const std::int32_t> elements, std::span<const std::uint8_t> masked,
           const Choices &choices)
    : state_(new State{cells,
                       choices,
                       {elements.begin(), elements.end()},
                       {masked.begin(), masked.end()},
                       kernel_of(cells.degree, shape_of(cells, choices)),
                       batches_of(cells, choices, elements, masked),
                       {},
                       {}}) {
  const Batches &batches = state_->batches;
  state_->weights.resize(batches.size());
  for (std::size_t i = 0; i < batches.elements.size(); ++i)
    state_->weights[i / lanes] += batches.elements[i] >= 0 ? 1 : 0;
  if (choices.first_rows == 0) return;
  std::vector<std::int32_t> first(choices.first_rows, -1);
  const std::size_t each = cells.element_nodes() * lanes;
  for (std::size_t i = 0; i < batches.nodes.size(); ++i) {
    const std::int32_t node = batches.nodes[i];
    if (node >= 0 && static_cast<std::size_t>(node) < first.size() &&
        first[static_cast<std::size_t>(node)] < 0)
      first[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(i / each);
  }
  state_->clears = Clears(batches.size(), first, std::vector<std::uint8_t>(first.size(), 0));
}

Plan::~Plan() = default;
Plan::Plan(Plan &&) noexcept = default;
Plan &Plan::operator=(Plan &&) noexcept = default;

std::size_t Plan::items() const { return state_->batches.size(); }

std::span<const float> Plan::weights() const { return state_->weights; }

void Plan::run(std::size_t begin, std::size_t end, const double *x, double *y) const {
  const State &state = *state_;
  while (begin < end) {
    state.clears.run(begin, y);
    const std::size_t stop = std::min(end, (begin / Clears::group + 1) * Clears::group);
    state.kernel.apply(state.batches, begin, stop, x, y);
    begin = stop;
  }
}

void Plan::diagonal(double *d) const {
  const State &state = *state_;
  state.kernel.diagonal(state.batches, 0, state.batches.size(), d);
}

double Plan::flops() const { return static_cast<double>(state_->elements.size()) * state_->kernel.flops; }

double Plan::bytes() const {
  const Batches &batches = state_->batches;
  const std::size_t streams = batches.nodes.size() * sizeof(std::int32_t) +
                              (batches.coefficient.size() + batches.geometry.size()) * sizeof(double);
  std::vector<std::int32_t> touched = batches.nodes;
  std::ranges::sort(touched);
  const auto rows = std::ranges::unique(touched).begin() - touched.begin();
  return static_cast<double>(streams) +
         3.0 * sizeof(double) * static_cast<double>(rows); // read x; read, write y
}

} // namespace haloscope::fem
