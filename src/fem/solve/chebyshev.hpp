// Chebyshev's polynomial of the fourth kind over Jacobi, with weights that are best for a V-cycle (Lottes
// 2022; Phillips and Fischer 2022): only the largest eigenvalue is needed. All vectors go by once a step.
#pragma once

#include "fem/solve/linear.hpp"

namespace haloscope::fem {

class Chebyshev {
public:
  static constexpr int largest_degree = 4;

  Chebyshev(const Linear &matrix, int degree);
  // Improves x. If that is known to be zero, one application less is needed.
  void smooth(const double *b, double *x, bool zero_guess);

private:
  Linear matrix_;
  int degree_;
  std::vector<double> inverse_; // of the diagonal, over the largest eigenvalue
  std::vector<double> residual_, direction_, product_;
};

} // namespace haloscope::fem
