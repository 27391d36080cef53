#include "fem/kernels/kernel_plan.hpp"
#include "fem/kernels/batches.hpp"
#include "fem/kernels/bricks.hpp"
#include "fem/kernels/items.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem::kernels {

namespace {

// Rows of y that have to be 0 before the first items that add to them. They are cleared piece by piece, so
// that they are still in the cache when items add to them.
class Clears {
public:
  static constexpr std::size_t group = 32; // items

  // The item that touches each row first; −1: none. Rows that are stored first, not added to, are left out.
  Clears(std::size_t items, std::span<const std::int32_t> first_item, std::span<const std::uint8_t> stored);
  Clears() = default;

  // Before item `item` runs.
  void run(std::size_t item, double *y) const {
    if (item % group == 0 && !begins_.empty()) clear(item / group, y);
  }

private:
  struct Range {
    std::int32_t first, count;
  };
  void clear(std::size_t which, double *y) const;
  std::vector<Range> ranges_;
  std::vector<std::size_t> begins_; // of a group's ranges
};

Clears::Clears(std::size_t items, std::span<const std::int32_t> first_item,
               std::span<const std::uint8_t> stored) {
  const std::size_t groups = std::max<std::size_t>(1, (items + group - 1) / group);
  std::vector<std::vector<Range>> of_group(groups);
  std::size_t current = 0; // a row that no item touches goes with the one before it
  for (std::size_t row = 0; row < first_item.size(); ++row) {
    if (first_item[row] >= 0) current = static_cast<std::size_t>(first_item[row]) / group;
    if (stored[row] != 0) continue;
    auto &ranges = of_group[current];
    const auto at = static_cast<std::int32_t>(row);
    if (!ranges.empty() && ranges.back().first + ranges.back().count == at)
      ++ranges.back().count;
    else
      ranges.push_back({at, 1});
  }
  for (const auto &ranges : of_group) {
    begins_.push_back(ranges_.size());
    ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  }
  begins_.push_back(ranges_.size());
}

void Clears::clear(std::size_t which, double *y) const {
  for (std::size_t i = begins_[which]; i < begins_[which + 1]; ++i)
    std::fill_n(y + ranges_[i].first, ranges_[i].count, 0.0);
}

} // namespace

} // namespace haloscope::fem::kernels

namespace haloscope::fem {

namespace {

using namespace kernels;

// The item that writes a row first, and whether it stores.
class FirstWrites final : public Writes {
public:
  explicit FirstWrites(std::size_t rows) : first(rows, -1), stored(rows, 0) {}

  bool stores(std::span<const std::int32_t> nodes) override {
    const bool all = std::ranges::all_of(nodes, [this](std::int32_t node) { return fresh(node); });
    for (const std::int32_t node : nodes) {
      adds(node);
      if (all) stored[static_cast<std::size_t>(node)] = 1;
    }
    return all;
  }
  void adds(std::int32_t node) override {
    if (fresh(node)) first[static_cast<std::size_t>(node)] = item;
  }

  std::int32_t item = 0;
  std::vector<std::int32_t> first;
  std::vector<std::uint8_t> stored;

private:
  bool fresh(std::int32_t node) const {
    const auto at = static_cast<std::size_t>(node);
    return at < first.size() && first[at] < 0;
  }
};

struct Item {
  int edge;
  std::uint32_t place; // among those of its edge
};

std::size_t node_count(const Cells &cells) {
  return cells.nodes.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(cells.nodes)) + 1;
}

} // namespace

struct Plan::State {
  State(const Cells &cells, std::span<const std::int32_t> elements, std::span<const std::uint8_t> masked,
        const Choices &choices)
      : cells(cells), choices(choices), elements(elements.begin(), elements.end()),
        masked(masked.begin(), masked.end()), kernel(kernel_of(cells.degree, shape_of(cells, choices))),
        batches(no_batches(cells, choices)) {}

  void add(const Work &work, const Mesh &mesh, Writes &writes) {
    items.push_back({work.edge, static_cast<std::uint32_t>(size(work.edge))});
    weights.push_back(static_cast<float>(work.firsts.size()) *
                      static_cast<float>(work.edge * work.edge * work.edge));
    if (work.edge == 2) {
      families.add(mesh, work.firsts, writes);
    } else if (work.edge > 2) {
      (work.edge == 4 ? four : eight).add(mesh, work.firsts, writes);
    } else {
      const std::size_t begin = batches.nodes.size();
      add_batch(batches, cells, masked, work.firsts);
      for (std::size_t i = begin; i < batches.nodes.size(); ++i)
        if (batches.nodes[i] >= 0) writes.adds(batches.nodes[i]);
    }
  }
  std::size_t size(int edge) const {
    if (edge == 1) return batches.size();
    return edge == 2 ? families.hanging.size() : (edge == 4 ? four : eight).regular.size();
  }
  // Items of one kind that follow each other.
  void run(int edge, std::size_t begin, std::size_t end, const double *x, double *y) const {
    if (edge == 1)
      kernel.apply(batches, begin, end, x, y);
    else if (edge == 2)
      families.run(begin, end, x, y);
    else
      (edge == 4 ? four : eight).run(begin, end, x, y);
  }

  Cells cells;
  Choices choices;
  std::vector<std::int32_t> elements;
  std::vector<std::uint8_t> masked;
  Kernel kernel;
  Batches batches;
  Families families;
  Rows four{4}, eight{8};
  std::vector<Item> items;
  std::vector<float> weights;
  Clears clears;
};

Plan::Plan(const Cells &cells, std::span<const std::int32_t> elements, std::span<const std::uint8_t> masked,
           const Choices &choices)
    : state_(new State(cells, elements, masked, choices)) {
  State &state = *state_;
  FirstWrites writes(choices.first_rows);
  const Mesh mesh{cells, masked, choices.first_rows == 0 ? node_count(cells) : choices.first_rows};
  for (const Work &work : schedule(cells, elements, choices)) {
    writes.item = static_cast<std::int32_t>(state.items.size());
    state.add(work, mesh, writes);
  }
  if (choices.first_rows == 0) return;
  if (state.items.empty()) state.items.push_back({1, 0}), state.weights.push_back(0); // it has rows to clear
  state.clears = Clears(state.items.size(), writes.first, writes.stored);
}

Plan::~Plan() = default;
Plan::Plan(Plan &&) noexcept = default;
Plan &Plan::operator=(Plan &&) noexcept = default;

std::size_t Plan::items() const { return state_->items.size(); }

std::span<const float> Plan::weights() const { return state_->weights; }

void Plan::run(std::size_t begin, std::size_t end, const double *x, double *y) const {
  const State &state = *state_;
  if (state.elements.empty()) end = begin, state.clears.run(0, y);
  while (begin < end) {
    state.clears.run(begin, y);
    const std::size_t stop = std::min(end, (begin / Clears::group + 1) * Clears::group);
    const Item first = state.items[begin];
    std::size_t count = 1;
    while (begin + count < stop && state.items[begin + count].edge == first.edge) ++count;
    state.run(first.edge, first.place, first.place + count, x, y);
    begin += count;
  }
}

void Plan::diagonal(double *d) const {
  const State &state = *state_;
  Batches batches = no_batches(state.cells, state.choices);
  Choices single = state.choices;
  single.bricks = false;
  for (const Work &work : schedule(state.cells, state.elements, single))
    add_batch(batches, state.cells, state.masked, work.firsts);
  state.kernel.diagonal(batches, 0, batches.size(), d);
}

double Plan::flops() const {
  constexpr double in_brick = 45; // an element's operations in the column kernel
  double sum = 0;
  for (std::size_t item = 0; item < items(); ++item)
    sum += weights()[item] * (state_->items[item].edge > 1 ? in_brick : state_->kernel.flops);
  return sum;
}

double Plan::bytes() const {
  const State &state = *state_;
  const std::size_t streams =
      state.batches.bytes() + state.families.bytes() + state.four.bytes() + state.eight.bytes();
  std::vector<std::uint8_t> touched(node_count(state.cells), 0);
  const std::size_t count = state.cells.element_nodes();
  for (const std::int32_t element : state.elements)
    for (const std::int32_t node :
         state.cells.nodes.subspan(static_cast<std::size_t>(element) * count, count))
      touched[static_cast<std::size_t>(node)] = 1;
  const auto rows = static_cast<double>(std::ranges::count(touched, 1));
  return static_cast<double>(streams) + 3.0 * sizeof(double) * rows; // read x, read and write y
}

} // namespace haloscope::fem
