// GMRES or conjugate gradients, preconditioned by one cycle of hypre's BoomerAMG, with AMG2023's settings.
#ifndef APPS_AMG_SOLVER_HPP
#define APPS_AMG_SOLVER_HPP

#include "library.hpp"
#include "parameters.hpp"

namespace amg {

struct Outcome {
  int iterations = 0, levels = 0;
  double residual = 0; // relative to the right-hand side's
  bool converged = false;
  double entries = 0;                          // of the multigrid
  double setup_seconds = 0, solve_seconds = 0; // of the slowest rank
};

// Sets up and solves, in the regions Setup and Solve. Collective.
Outcome solve(const Parameters &p, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector right,
              HYPRE_ParVector unknowns);

// Returns the seconds of the slowest rank. Collective.
double slowest(double seconds);

} // namespace amg

#endif
