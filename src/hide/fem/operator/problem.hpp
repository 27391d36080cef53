// Problems on the unit cube with a known solution: −∇·(κ∇u) = f, u = 0 on the boundary.
#pragma once

#include "hide/fem/operator/functions.hpp"

namespace haloscope::fem {

struct Problem {
  Coefficient coefficient;
  Function load, solution;
};

// κ is 1 for x < ½ and `jump` beyond; u = sin 2πx sin πy sin πz / κ, whose flux is continuous.
[[nodiscard]] Problem jump_problem(double jump);
// κ = 1 + ½ sin 2πx cos πy, taken at the quadrature points; u = sin πx sin πy sin πz.
[[nodiscard]] Problem smooth_problem();
// Moves points inside the cube, smoothly and by at most `amplitude`; the boundary and the plane x = ½ stay
// in their place. Elements stay uninverted up to amplitude 0.05.
[[nodiscard]] std::function<Point(Point)> deformation(double amplitude);

} // namespace haloscope::fem
