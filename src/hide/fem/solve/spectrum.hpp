// Where the eigenvalues of D^-1 A lie, from a few steps of Lanczos' method.
#pragma once

#include "hide/fem/solve/linear.hpp"

namespace haloscope::fem {

struct Interval {
  double lower = 0, upper = 0;
};

// 1 / diagonal; throws Error on all ranks unless it is positive everywhere.
std::vector<double> inverse_diagonal(const Linear &matrix);

// The outermost Ritz values: inside the spectrum, the upper one close to its end. `scale` multiplies the
// residual (D^-1), empty for the identity. The same on all ranks.
Interval spectrum(const Linear &matrix, std::span<const double> scale, int steps, int phase);

} // namespace haloscope::fem
