// Points on [0, 1] and polynomials through them.
#pragma once

#include <vector>

namespace haloscope::fem {

[[nodiscard]] std::vector<double> lobatto_points(int degree); // degree + 1, with both ends
[[nodiscard]] std::vector<double> gauss_points(int count);
// Values at x of the polynomials that are 1 at one of the points and 0 at the others.
[[nodiscard]] std::vector<double> lagrange(const std::vector<double> &points, double x);

} // namespace haloscope::fem
