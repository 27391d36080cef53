// The solvers' view of a problem: matrices that can only be applied, on owned entries of distributed vectors,
// and bounds of their eigenvalues.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace haloscope::fem {

// The uses of a matrix. An operator learns an alpha for each.
enum Phase { phase_energy, phase_smoother, phase_residual, phase_count };

struct Linear {
  MPI_Comm comm = MPI_COMM_NULL;
  std::size_t rows = 0; // owned
  std::function<void(const double *x, double *y, int phase)> apply;
  std::function<void(double *diagonal)> diagonal;
  int messages = 0; // that this rank sends in an application
};

struct SolveSettings {
  double tolerance = 1e-8; // of the residual's norm relative to the right-hand side's; 0: all iterations
  int iterations = 8192;   // at most
  bool jacobi = false;     // where no other preconditioner is given
};

struct Outcome {
  bool converged = false;
  std::string reason; // in words
  int iterations = 0;
  double residual = 0; // relative, computed anew from the solution
  double setup_seconds = 0, solve_seconds = 0;
};

// Throws Error on all ranks if it did not converge.
void require_convergence(const Outcome &outcome, const std::string &solver);

// An interval with the eigenvalues of D^-1 A, from a few steps of Lanczos' method.
struct Interval {
  double lower = 0, upper = 0;
};

// 1 / diagonal; throws Error on all ranks unless it is positive everywhere.
std::vector<double> inverse_diagonal(const Linear &matrix);

// Returns the outermost Ritz values. Both are inside the spectrum, the upper one close to its end. `scale`
// multiplies the residual (D^-1), empty for the identity. The same on all ranks.
Interval spectrum(const Linear &matrix, std::span<const double> scale, int steps, int phase);

} // namespace haloscope::fem
