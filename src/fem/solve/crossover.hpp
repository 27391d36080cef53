// When pipelined and s-step conjugate gradients pay: a model of an iteration's time from measured parts.
#pragma once

#include "fem/solve/linear.hpp"

namespace haloscope::fem {

// Seconds, of the slowest rank.
struct Costs {
  double matvec = 0;
  double stream = 0;    // of one owned entry read or written in a vector operation of CG
  double wide = 0;      // the same among as many vectors as the pipelined method has
  double product = 0;   // of one owned entry's multiply and add where the operands are in the cache
  double allreduce = 0; // of a few numbers
  std::size_t rows = 0;
};

struct Prediction {
  double plain = 0, other = 0; // seconds an iteration
  // The time of an Allreduce above which the other method is faster; 0: it always is.
  double crossover = 0;
};

// Allreduces of PETSc's conjugate gradients an iteration: two inner products and the norm.
inline constexpr double plain_allreduces = 3;

// Collective: takes about 20 applications.
Costs measured(const Linear &matrix);
Prediction predicted_s_step(const Costs &costs, int steps, bool jacobi);
// One Allreduce per iteration, overlapped with the preconditioner and the product.
Prediction predicted_pipelined(const Costs &costs, bool jacobi);

} // namespace haloscope::fem
