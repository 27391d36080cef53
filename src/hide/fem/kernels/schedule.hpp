// Which elements are applied together, and in which order: cubes of leaves where a kernel for them exists.
#pragma once

#include "hide/fem/kernels/cells.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem::kernels {

// One work item. Bricks of `edge`³ elements, known by their first one (the others follow it in Morton
// order): a large one, or as many small ones as fit into the lanes; edge 1: a batch of elements.
struct Work {
  int edge;
  std::vector<std::int32_t> firsts;
};

std::vector<Work> schedule(const Cells &cells, std::span<const std::int32_t> elements,
                           const Choices &choices);

// Where an element of a brick lies in it, by its place in Morton order.
constexpr int place_along(int direction, unsigned morton) {
  unsigned place = 0;
  for (unsigned bit = 0; bit < 3; ++bit)
    place |= (morton >> (3 * bit + static_cast<unsigned>(direction)) & 1U) << bit;
  return static_cast<int>(place);
}

} // namespace haloscope::fem::kernels
