// What blocks that touch tell each other: a layer of cells, on the coarser of their two levels.
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

// What a block says across a face; `values` are `count` times as many as the face has.
void pack(const Shape &shape, const Face &face, const Block &block, Variables which,
          std::span<double> values);
// Sets ghosts by what was said. Where levels differ, a coarse cell exchanges with four fine ones half of what
// it would with its like, since they are nearer in number and smaller: that way nothing gets lost between
// them.
void unpack(const Shape &shape, const Face &face, Block &block, Variables which,
            std::span<const double> values);
// Ghosts at the boundary of the domain are like the cells beside them: nothing flows.
void reflect(const Shape &shape, const Face &face, Block &block, Variables which);

} // namespace amr

#endif
