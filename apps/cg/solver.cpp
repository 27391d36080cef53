#include "solver.hpp"

#include "field.hpp"
#include "stencil.hpp"

#include <haloscope/region.hpp>

#include <algorithm>
#include <cmath>

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

Outcome solve(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, Stop stop,
              const Observer &observe) {
  const haloscope::Region region{"cg"};
  Field r = b, z(b.shape()), p(b.shape()), ap(b.shape());

  halo.exchange(x);
  apply_operator(x, ap);
  add_scaled(-1.0, ap, r);
  const double first = std::sqrt(dot(r, r));
  Outcome outcome{0, first > 0 ? 1.0 : 0.0};

  double rz_before = 1;
  while (outcome.iterations < stop.iterations && outcome.residual > stop.tolerance) {
    if (preconditioner != nullptr)
      preconditioner->apply(r, z);
    else
      z = r;
    const double rz = dot(r, z);
    // p starts as zero, so that the first direction needs no case of its own
    scale_then_add(rz / rz_before, z, p);
    rz_before = rz;

    halo.exchange(p);
    apply_operator(p, ap);
    const double curvature = dot(p, ap);
    if (!(curvature > 0)) break; // the residual is below the smallest number: nothing is left to correct
    const double alpha = rz / curvature;
    add_scaled(alpha, p, x);
    add_scaled(-alpha, ap, r);
    outcome.residual = std::sqrt(dot(r, r)) / first;
    observe(++outcome.iterations, outcome.residual, x);
  }
  return outcome;
}

} // namespace cg
