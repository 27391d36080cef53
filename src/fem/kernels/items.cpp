#include "fem/kernels/items.hpp"
#include "fem/kernels/batches.hpp"
#include "fem/kernels/cells.hpp"
#include "fem/kernels/sweeps.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace haloscope::fem::kernels {

namespace {

// Elements wait until a kind (edge, face code) has enough of them to fill the lanes.
using Kind = std::pair<int, std::uint16_t>;

std::size_t count_fitting(int edge) {
  return edge <= 2 ? std::size_t{lanes}
                   : static_cast<std::size_t>(lanes / edge); // larger ones lie along their rows
}

class Leaves {
public:
  Leaves(const Cells &cells, std::span<const std::int32_t> elements) : cells_(cells), elements_(elements) {}

  // Whether the cube of edge³ leaves is complete that would begin with elements[at].
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
    if (firsts.size() == count_fitting(edge)) items.push_back({edge, std::exchange(firsts, {})});
    at += static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
  }
  for (auto &[kind, firsts] : waiting)
    if (!firsts.empty()) items.push_back({kind.first, std::move(firsts)});
  return items;
}

namespace {

// The directions in which a corner of an element lies halfway between nodes of a larger one.
unsigned halfway(std::uint16_t code, unsigned corner) {
  const unsigned same = ~(corner ^ code); // bits of the directions in which it touches the child's corner
  unsigned directions = 0;
  for (int d = 0; d < 3; ++d) {
    const int before = d == 0 ? 1 : 0, after = d == 2 ? 1 : 2;
    const bool line = code != 0 && hangs(code, d, (same >> before & 1) != 0, (same >> after & 1) != 0);
    if (line && (same >> d & 1) == 0) directions |= 1U << d;
  }
  return directions;
}

} // namespace

Lattice::Lattice(const Cells &cells, std::int32_t first, int edge) : size(edge + 1) {
  places.resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(size) *
                static_cast<std::size_t>(size));
  for (unsigned morton = 0; morton < static_cast<unsigned>(edge * edge * edge); ++morton) {
    const std::size_t element = static_cast<std::size_t>(first) + morton;
    const std::int32_t *nodes = &cells.nodes[element * 8];
    const std::uint16_t code = cells.faces.empty() ? std::uint16_t{0} : cells.faces[element];
    for (unsigned corner = 0; corner < 8; ++corner) {
      const auto along = [&](int d) { return place_along(d, morton) + static_cast<int>(corner >> d & 1U); };
      Place &place = places[index(along(0), along(1), along(2))];
      const unsigned directions = halfway(code, corner);
      if (directions == 0)
        place.node = nodes[corner];
      else if (place.parents.empty())
        for (unsigned other = 0; other < 8; ++other)
          if (((other ^ corner) & ~directions) == 0) place.parents.push_back(nodes[other]);
    }
  }
}

} // namespace haloscope::fem::kernels

namespace haloscope::fem {

namespace {

class Numbers {
public:
  explicit Numbers(std::size_t owned) : new_of_old_(owned, -1) {}
  void give(std::int32_t node) {
    const auto at = static_cast<std::size_t>(node);
    if (node >= 0 && at < new_of_old_.size() && new_of_old_[at] < 0) new_of_old_[at] = next_++;
  }
  std::vector<std::int32_t> all() {
    for (std::int32_t &number : new_of_old_)
      if (number < 0) number = next_++;
    return std::move(new_of_old_);
  }

private:
  std::vector<std::int32_t> new_of_old_;
  std::int32_t next_ = 0;
};

// Row by row without the lowest places, which the bricks before it own if they can; those come last.
void number(const kernels::Lattice &lattice, Numbers &numbers) {
  const auto rows = [&](bool lowest) {
    for (int z = 0; z < lattice.size; ++z)
      for (int y = 0; y < lattice.size; ++y)
        if ((y == 0 || z == 0) == lowest)
          for (int x = 1; x < lattice.size; ++x) numbers.give(lattice.at(x, y, z).node);
  };
  rows(false);
  rows(true);
  for (const auto &place : lattice.places) numbers.give(place.node);
}

} // namespace

std::vector<std::int32_t> layout(const Cells &cells, std::span<const char> mirror, std::size_t owned) {
  std::vector<std::int32_t> elements;
  for (std::size_t element = 0; element < cells.elements(); ++element)
    if (mirror.empty() || mirror[element] == 0) elements.push_back(static_cast<std::int32_t>(element));
  return layout(cells, elements, owned);
}

std::vector<std::int32_t> layout(const Cells &cells, std::span<const std::int32_t> elements,
                                 std::size_t owned) {
  Numbers numbers(owned);
  const std::size_t count = cells.element_nodes();
  for (const kernels::Work &item : kernels::schedule(cells, elements, {}))
    for (const std::int32_t first : item.firsts) {
      if (item.edge > 1)
        number(kernels::Lattice(cells, first, item.edge), numbers);
      else
        for (const std::int32_t node : cells.nodes.subspan(static_cast<std::size_t>(first) * count, count))
          numbers.give(node);
    }
  return numbers.all();
}

} // namespace haloscope::fem
