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

void Multigrid::cycle(std::size_t number, const Field &b, Field &x) {
  Level &level = levels_[number];
  const haloscope::Region region{level.name};
  std::fill(x.values().begin(), x.values().end(), 0.0);
  smooth(level, b, x);
  if (number + 1 == levels_.size()) return;
  Level &coarse = levels_[number + 1];
  level.halo.exchange(x);
  restrict_residual(b, x, coarse.b);
  cycle(number + 1, coarse.b, coarse.x);
  prolong_add(coarse.x, x);
  smooth(level, b, x);
}

} // namespace cg
