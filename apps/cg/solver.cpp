#include "solver.hpp"

#include "stencil.hpp"
#include "vectors.hpp"

#include <cmath>
#include <haloscope/region.hpp>

namespace cg {

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
