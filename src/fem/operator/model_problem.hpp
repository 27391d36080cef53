// Problems −∇·(κ∇u) = f: their coefficient, and some on the unit cube whose solution is known.
#pragma once

#include "fem/operator/plain_quadrature.hpp"

#include <functional>
#include <vector>

namespace haloscope::fem {

using Function = std::function<double(const Point &)>;

// κ
struct Coefficient {
  std::function<double(const Point &)> value = [](const Point &) { return 1.0; };
  bool pointwise = false; // taken at the quadrature points, else once an element, at its centre
};

// Samples the coefficient: one number per element, or (k+1)^3 at the Gauss points, x fastest. Collective.
// Throws Error on all ranks if a number is not positive and finite.
[[nodiscard]] std::vector<double> sampled(const Coefficient &coefficient, const Forest &forest,
                                          const Geometry &geometry, int degree);

// On the unit cube, with u = 0 on the boundary.
struct Problem {
  Coefficient coefficient;
  Function load, solution;
};

// κ is 1 for x < ½ and `jump` beyond; u = e^(x/2) sin 2πx · e^(−y/2) sin πy · e^(−z) sin πz / κ, whose
// flux is continuous.
[[nodiscard]] Problem jump_problem(double jump);
// κ = 1 + ½ sin 2πx cos πy, taken at the quadrature points; u = sin πx sin πy sin πz.
[[nodiscard]] Problem smooth_problem();
// Moves points inside the cube, smoothly and by at most `amplitude`; the boundary and the plane x = ½ stay
// in their place. Elements stay uninverted up to amplitude 0.05.
[[nodiscard]] std::function<Point(Point)> deformation(double amplitude);

} // namespace haloscope::fem
