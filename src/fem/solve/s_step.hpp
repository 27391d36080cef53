// Conjugate gradients that synchronise once in s iterations (Chronopoulos and Gear's s-step method, in a
// Chebyshev basis). s applications of the matrix build a basis, one Allreduce brings all its inner products,
// and small dense systems give s directions at once. It does not use PETSc.
//
// Guards: the Cholesky factorisation of the directions' energies stops at the first column that depends on
// earlier ones. So a poor basis means fewer directions, not wrong ones. The true residual replaces the
// computed one whenever that has shrunk by 100, and confirms the end. If the true residual has grown, s is
// halved.
#pragma once

#include "fem/solve/linear.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace haloscope::fem {

// Vectors side by side.
class MultiVector {
public:
  MultiVector(std::size_t rows, int columns)
      : rows_(rows), values_(rows * static_cast<std::size_t>(columns)) {}
  double *column(int j) { return values_.data() + rows_ * static_cast<std::size_t>(j); }
  const double *column(int j) const { return values_.data() + rows_ * static_cast<std::size_t>(j); }
  std::size_t rows() const { return rows_; }

private:
  std::size_t rows_;
  std::vector<double> values_;
};

// The method's vectors: a basis of the next residuals, the last directions, and their products with A.
struct StepVectors {
  MultiVector u, au, q, aq;
  StepVectors(std::size_t rows, int s) : u(rows, s), au(rows, s), q(rows, s), aq(rows, s) {}
};

// Each of these two is one pass through memory.
//
// This rank's share of U^T AU (s × s, its lower triangle), AQ^T U (m × s), U^T r (s), Q^T r (m), r^T r.
std::size_t products(const StepVectors &basis, std::span<const double> r, int s, int m,
                     std::span<double> result);

// Q = U + Q B, AQ = AU + AQ B (B is m_old × m_new, by columns of most_steps), x += Q a, r -= AQ a.
void advance(StepVectors &basis, int m_old, int m_new, std::span<const double> b, std::span<const double> a,
             std::span<double> x, std::span<double> r);

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
