// The (edge + 1)³ places of a brick's corners, x fastest: the node at each, or the nodes that it hangs on.
#pragma once

#include "hide/fem/kernels/cells.hpp"

#include <cstdint>
#include <vector>

namespace haloscope::fem::kernels {

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
