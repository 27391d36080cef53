// Groups of elements that are applied together, and their order: cubes of leaves if a kernel for them exists.
#pragma once

#include "fem/kernels/cells.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem::kernels {

// One work item. Bricks of `edge`³ elements, each known by its first element (the others follow it in Morton
// order): one large brick, or small ones that fill the lanes. edge 1: a batch of elements.
struct Work {
  int edge;
  std::vector<std::int32_t> firsts;
};

std::vector<Work> schedule(const Cells &cells, std::span<const std::int32_t> elements,
                           const Choices &choices);

// The position of an element in a brick, by its place in Morton order.
constexpr int place_along(int direction, unsigned morton) {
  unsigned place = 0;
  for (unsigned bit = 0; bit < 3; ++bit)
    place |= (morton >> (3 * bit + static_cast<unsigned>(direction)) & 1U) << bit;
  return static_cast<int>(place);
}

// The (edge + 1)³ places of a brick's corners, x fastest: the node at each, or the nodes that it hangs on.
struct Lattice {
  struct Place {
    std::int32_t node = -1;            // −1: hangs
    std::vector<std::int32_t> parents; // the mean of these
  };
  Lattice(const Cells &cells, std::int32_t first, int edge);

  int size; // places a direction
  std::vector<Place> places;
  const Place &at(int x, int y, int z) const { return places[index(x, y, z)]; }
  std::size_t index(int x, int y, int z) const {
    const auto edge = static_cast<std::size_t>(size);
    return (static_cast<std::size_t>(z) * edge + static_cast<std::size_t>(y)) * edge +
           static_cast<std::size_t>(x);
  }
};

} // namespace haloscope::fem::kernels
