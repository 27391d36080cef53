#include "hide/fem/kernels/schedule.hpp"

#include "hide/fem/kernels/batches.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace haloscope::fem::kernels {
namespace {

// Items wait until as many of a kind as fit into the lanes have come: (edge, face code).
using Kind = std::pair<int, std::uint16_t>;

std::size_t fitting(int edge) {
  return edge <= 2 ? std::size_t{lanes}
                   : static_cast<std::size_t>(lanes / edge); // larger ones lie along their rows
}

class Leaves {
public:
  Leaves(const Cells &cells, std::span<const std::int32_t> elements) : cells_(cells), elements_(elements) {}

  // Is the cube of edge³ leaves complete that would begin with elements[at]?
  bool brick(std::size_t at, int edge) const {
    const auto count =
        static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
    if (at + count > elements_.size()) return false;
    const std::int32_t first = elements_[at], last = elements_[at + count - 1];
    if (last - first != static_cast<std::int32_t>(count) - 1) return false;
    const Leaf &leaf = this->leaf(first);
    if (leaf.level > root_bits) return false;
    const std::int32_t size = std::int32_t{1} << (root_bits - leaf.level), width = size * edge;
    if (leaf.x % width != 0 || leaf.y % width != 0 || leaf.z % width != 0) return false;
    // The list may have gaps, so neighbours in it need not be neighbours.
    for (std::int32_t i = 1; i < static_cast<std::int32_t>(count); ++i) {
      const Leaf &other = this->leaf(first + i);
      const auto along = [&](int direction) {
        return place_along(direction, static_cast<unsigned>(i)) * size;
      };
      if (other.level != leaf.level || other.tree != leaf.tree || other.x != leaf.x + along(0) ||
          other.y != leaf.y + along(1) || other.z != leaf.z + along(2))
        return false;
    }
    return true;
  }

private:
  const Leaf &leaf(std::int32_t element) const { return cells_.leaves[static_cast<std::size_t>(element)]; }
  const Cells &cells_;
  std::span<const std::int32_t> elements_;
};

std::uint16_t code_of(const Cells &cells, std::int32_t element) {
  return cells.faces.empty() ? std::uint16_t{0} : cells.faces[static_cast<std::size_t>(element)];
}

// Families with and without hanging nodes stay apart.
std::uint16_t kind_of(const Cells &cells, std::int32_t first, int edge) {
  if (edge == 1) return code_of(cells, first);
  if (edge > 2) return 0;
  for (std::int32_t child = 0; child < 8; ++child)
    if (code_of(cells, first + child) != 0) return 1;
  return 0;
}

} // namespace

std::vector<Work> schedule(const Cells &cells, std::span<const std::int32_t> elements,
                           const Choices &choices) {
  const bool has_kernels = cells.degree == 1 && shape_of(cells, choices) == Shape::modal;
  const bool bricks = choices.bricks && has_kernels && !cells.leaves.empty();
  const Leaves leaves(cells, elements);
  std::vector<Work> items;
  std::map<Kind, std::vector<std::int32_t>> waiting;
  for (std::size_t at = 0; at < elements.size();) {
    int edge = bricks ? std::min(choices.largest_brick, std::max(2, lanes)) : 1;
    while (edge > 1 && !leaves.brick(at, edge)) edge /= 2;
    auto &firsts = waiting[{edge, kind_of(cells, elements[at], edge)}];
    firsts.push_back(elements[at]);
    if (firsts.size() == fitting(edge)) items.push_back({edge, std::exchange(firsts, {})});
    at += static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
  }
  for (auto &[kind, firsts] : waiting)
    if (!firsts.empty()) items.push_back({kind.first, std::move(firsts)});
  return items;
}

} // namespace haloscope::fem::kernels
