// Conjugate gradients that synchronise once in s iterations (Chronopoulos and Gear's s-step method, in a
// Chebyshev basis): s applications of the matrix build a basis, one Allreduce brings all its inner products,
// and small dense systems give s directions at once. No PETSc.
//
// Guards: the Cholesky factorisation of the directions' energies stops at the first column that depends on
// those before it, so that a poor basis means fewer directions, not wrong ones; the residual is replaced by
// the true one whenever it has shrunk by 100, and confirms the end; where it has grown, s is halved.
#pragma once

#include "hide/fem/solve/linear.hpp"
#include "hide/fem/solve/spectrum.hpp"

namespace haloscope::fem {

inline constexpr int most_steps = 16;

struct StepCounts {
  std::int64_t matvecs = 0, allreduces = 0, messages = 0;
  int blocks = 0;       // of s iterations
  int truncations = 0;  // blocks that took fewer directions
  int replacements = 0; // of the residual
};

struct StepOutcome : Outcome {
  StepCounts counts; // of the iterations: neither set-up nor the interval's estimate
};

// From x = 0. Where the interval of D^-1 A (jacobi) or A is empty it is estimated first.
StepOutcome s_step(const Linear &matrix, std::span<const double> b, std::span<double> x, int steps,
                   const SolveSettings &settings, Interval interval = {});

} // namespace haloscope::fem
