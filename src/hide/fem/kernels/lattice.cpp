#include "hide/fem/kernels/lattice.hpp"

#include "hide/fem/kernels/hanging.hpp"
#include "hide/fem/kernels/schedule.hpp"

namespace haloscope::fem::kernels {
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
