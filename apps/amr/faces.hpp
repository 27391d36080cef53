// Exchanges between blocks that touch: a layer of cells, on the coarser of their two levels.
#ifndef APPS_AMR_FACES_HPP
#define APPS_AMR_FACES_HPP

#include "block.hpp"

#include <span>

namespace amr {

// A side of a block, or the quarter of it that one of four finer blocks touches.
struct Face {
  int leaf = 0, axis = 0, side = 0;
  Relation other = Relation::boundary; // what the block behind it is, seen from here
  std::array<int, 2> quarter{};        // if that is finer: which, along the other two axes

  // Values of a variable that cross it in each direction.
  std::size_t values(const Shape &shape) const;
};

struct Variables {
  int first, count;
};

// Packs the values for a face: `count` per cell of the face.
void pack(const Shape &shape, const Face &face, const Block &block, Variables which,
          std::span<double> values);
// Sets ghosts from packed values. If levels differ, a coarse cell exchanges half of the usual amount with
// each of four fine cells, because these are closer in number and smaller. So sums are conserved.
void unpack(const Shape &shape, const Face &face, Block &block, Variables which,
            std::span<const double> values);
// Ghosts at the boundary of the domain copy the adjacent cells, so that nothing flows.
void reflect(const Shape &shape, const Face &face, Block &block, Variables which);

} // namespace amr

#endif
