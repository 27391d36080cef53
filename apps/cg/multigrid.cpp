#include "multigrid.hpp"

#include "stencil.hpp"

#include <algorithm>
#include <haloscope/region.hpp>

namespace cg {

Multigrid::Multigrid(Shape finest, const apps::ProcessGrid &grid, Smoother smoother) : smoother_(smoother) {
  const Shape nothing{{0, 0, 0}};
  Shape shape = finest;
  for (int level = 0; level < multigrid_levels; ++level) {
    const Shape own = level == 0 ? nothing : shape;
    levels_.push_back({"mg_level_" + std::to_string(level), Halo(shape, grid), Field(own), Field(own),
                       Field(smoother == Smoother::jacobi ? shape : nothing)});
    shape = shape.coarser();
  }
}

// The first smoothing's exchange carries zeros and could be left out; HPCG makes it, and its pattern
// of communication is what this program is for.
void Multigrid::smooth(Level &level, const Field &b, Field &x) {
  level.halo.exchange(x);
  if (smoother_ == Smoother::gauss_seidel)
    symmetric_gauss_seidel(b, x);
  else
    damped_jacobi(b, x, level.scratch);
}

// A level's region ends where the next level's begins: its figures are its own, not those of all below it.
void Multigrid::cycle(std::size_t number, const Field &b, Field &x) {
  Level &level = levels_[number];
  const bool coarsest = number + 1 == levels_.size();
  {
    const haloscope::Region region{level.name};
    std::ranges::fill(x.values(), 0.0);
    smooth(level, b, x);
    if (coarsest) return;
    level.halo.exchange(x);
    restrict_residual(b, x, levels_[number + 1].b);
  }
  cycle(number + 1, levels_[number + 1].b, levels_[number + 1].x);
  const haloscope::Region region{level.name};
  prolong_add(levels_[number + 1].x, x);
  smooth(level, b, x);
}

} // namespace cg
