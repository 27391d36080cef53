// Preconditioned conjugate gradients, as in Algorithm 1 of Chester, Wright and Jarvis (2018).
#ifndef APPS_CG_SOLVER_HPP
#define APPS_CG_SOLVER_HPP

#include "multigrid.hpp"

#include <functional>

namespace cg {

struct Stop {
  int iterations;
  double tolerance; // of the residual, relative to the first
};

struct Outcome {
  int iterations = 0;
  double residual = 1; // relative to the first
};

// Called after each iteration with its number, the relative residual and the iterate.
using Observer = std::function<void(int, double, const Field &)>;

// Solves A x = b from the x that is given. Without a preconditioner (nullptr): plain conjugate gradients.
Outcome solve(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, Stop stop,
              const Observer &observe);

} // namespace cg

#endif
