#include "fem/solve/s_step.hpp"

#include "fem/mesh/communicator.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace haloscope::fem {

namespace {

constexpr double dependent = 1e-11;  // a pivot this small beside its diagonal is rounding
constexpr double indefinite = -1e-6; // and one this negative is not
constexpr double replace_after = 0.01;
constexpr double grown = 100;         // times the smallest residual so far
constexpr int most_confirmations = 5; // that failed
constexpr std::size_t stride = most_steps;
constexpr std::size_t square = stride * stride;

using Small = std::array<double, square>; // by columns of most_steps
using Column = std::array<double, most_steps>;

std::size_t place(int i, int j) { return static_cast<std::size_t>(j) * stride + static_cast<std::size_t>(i); }
double &at(Small &a, int i, int j) { return a[place(i, j)]; }
double at(const Small &a, int i, int j) { return a[place(i, j)]; }
double &at(Column &a, int i) { return a[static_cast<std::size_t>(i)]; }
double at(const Column &a, int i) { return a[static_cast<std::size_t>(i)]; }

// Computes the lower factor of the leading columns that are independent, and returns how many. `scale`: what
// a pivot was before anything was subtracted from it. -1: the matrix is indefinite.
int factorise(Small &a, const Column &scale, int n) {
  for (int j = 0; j < n; ++j) {
    double pivot = at(a, j, j);
    for (int k = 0; k < j; ++k) pivot -= at(a, j, k) * at(a, j, k);
    if (!(at(scale, j) > 0) || pivot < indefinite * at(scale, j)) return -1;
    if (pivot <= dependent * at(scale, j)) return j;
    at(a, j, j) = std::sqrt(pivot);
    for (int i = j + 1; i < n; ++i) {
      double value = at(a, i, j);
      for (int k = 0; k < j; ++k) value -= at(a, i, k) * at(a, j, k);
      at(a, i, j) = value / at(a, j, j);
    }
  }
  return n;
}

void solve(const Small &factor, int n, double *x) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= at(factor, i, k) * x[k];
    x[i] /= at(factor, i, i);
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i] -= at(factor, k, i) * x[k];
    x[i] /= at(factor, i, i);
  }
}

// All that a block of s iterations computes from its one Allreduce.
struct Coefficients {
  Small b{};    // of the last directions in the new ones
  Column a{};   // of the new ones in the solution
  Small energy; // the new ones' Cholesky factor
  int directions = 0;
};

Coefficients coefficients(std::span<const double> sums, int s, int m, const Small &last) {
  Coefficients c{};
  std::size_t next = 0;
  Column scale{}, gradient{}, left{};
  for (int i = 0; i < s; ++i)
    for (int j = 0; j <= i; ++j) at(c.energy, i, j) = sums[next++];
  Small cross{};
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < s; ++j) at(cross, i, j) = sums[next++];
  for (int i = 0; i < s; ++i) at(gradient, i) = sums[next++];
  for (int i = 0; i < m; ++i) at(left, i) = sums[next++];
  for (int j = 0; j < s; ++j) {
    at(scale, j) = at(c.energy, j, j);
    for (int i = 0; i < m; ++i) at(c.b, i, j) = -at(cross, i, j);
    solve(last, m, &at(c.b, 0, j));
    for (int i = 0; i < m; ++i) at(gradient, j) += at(c.b, i, j) * at(left, i);
  }
  for (int i = 0; i < s; ++i)
    for (int j = 0; j <= i; ++j)
      for (int k = 0; k < m; ++k) at(c.energy, i, j) += at(cross, k, i) * at(c.b, k, j);
  c.directions = factorise(c.energy, scale, s);
  c.a = gradient;
  solve(c.energy, std::max(c.directions, 0), c.a.data());
  return c;
}

class Solver {
public:
  Solver(const Linear &matrix, std::span<const double> b, std::span<double> x, int steps,
         const SolveSettings &settings, Interval interval)
      : matrix_(matrix), b_(b), x_(x), settings_(settings), interval_(interval), steps_(steps),
        basis_(matrix.rows, steps), r_(b.begin(), b.end()) {
    const double start = MPI_Wtime();
    if (settings.jacobi) inverse_ = inverse_diagonal(matrix);
    if (!(interval_.upper > 0)) interval_ = spectrum(matrix, inverse_, 10, phase_energy);
    outcome_.setup_seconds = MPI_Wtime() - start;
  }

  StepOutcome run() {
    const double start = MPI_Wtime();
    std::ranges::fill(x_, 0.0);
    norm_ = norm(b_);
    smallest_ = replaced_ = norm_;
    if (norm_ == 0) return finish(true, "the right-hand side is zero", start);
    while (outcome_.iterations < settings_.iterations) {
      build();
      const double residual = reduce();
      if (!std::isfinite(residual)) return finish(false, "a number is not finite", start);
      if (residual <= settings_.tolerance * norm_) {
        if (confirmed()) return finish(true, "converged", start);
        if (++failed_ > most_confirmations) return finish(false, "the recurrence stagnates", start);
        continue;
      }
      if (diverges(residual)) continue;
      if (!advance_block()) return finish(false, "the matrix is not positive definite", start);
      if (residual > replace_after * replaced_) continue;
      replaced_ = residual;
      replace();
    }
    return finish(false, "the limit of iterations is reached", start);
  }

private:
  double norm(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, matrix_.comm);
    ++outcome_.counts.allreduces;
    return std::sqrt(sum);
  }

  void apply(const double *x, double *y, int phase) {
    matrix_.apply(x, y, phase);
    ++outcome_.counts.matvecs;
    outcome_.counts.messages += matrix_.messages;
  }

  // u_0 = D^-1 r, and Chebyshev's polynomials of D^-1 A, shifted to its interval, applied to it.
  void build() {
    const double centre = (interval_.upper + interval_.lower) / 2;
    const double half = std::max((interval_.upper - interval_.lower) / 2, 1e-3 * centre);
    const std::size_t n = matrix_.rows;
    const double *d = inverse_.empty() ? nullptr : inverse_.data();
    double *u = basis_.u.column(0);
    for (std::size_t i = 0; i < n; ++i) u[i] = d ? d[i] * r_[i] : r_[i];
    for (int j = 0; j < steps_; ++j) {
      const double *__restrict now = basis_.u.column(j);
      const double *__restrict product = basis_.au.column(j);
      apply(now, basis_.au.column(j), phase_energy);
      if (j + 1 == steps_) break;
      double *__restrict next = basis_.u.column(j + 1);
      const double *__restrict last = basis_.u.column(std::max(j - 1, 0));
      const double factor = (j == 0 ? 1 : 2) / half, back = j == 0 ? 0 : 1;
      if (d)
        for (std::size_t i = 0; i < n; ++i)
          next[i] = factor * (d[i] * product[i] - centre * now[i]) - back * last[i];
      else
        for (std::size_t i = 0; i < n; ++i)
          next[i] = factor * (product[i] - centre * now[i]) - back * last[i];
    }
  }

  double reduce() {
    const std::size_t count = products(basis_, r_, steps_, directions_, sums_);
    MPI_Allreduce(MPI_IN_PLACE, sums_.data(), static_cast<int>(count), MPI_DOUBLE, MPI_SUM, matrix_.comm);
    ++outcome_.counts.allreduces;
    return std::sqrt(sums_[count - 1]);
  }

  void replace() {
    apply(x_.data(), basis_.au.column(0), phase_residual);
    const double *product = basis_.au.column(0);
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] = b_[i] - product[i];
    ++outcome_.counts.replacements;
  }

  bool confirmed() {
    replace();
    directions_ = 0;
    outcome_.residual = norm(r_) / norm_;
    return outcome_.residual <= settings_.tolerance;
  }

  // Returns true if the block has to be built again, smaller and from the true residual.
  bool diverges(double residual) {
    smallest_ = std::min(smallest_, residual);
    if (residual <= grown * smallest_) return false;
    steps_ = std::max(1, steps_ / 2);
    directions_ = 0;
    smallest_ = replaced_ = residual;
    replace();
    return true;
  }

  bool advance_block() {
    const Coefficients c = coefficients(sums_, steps_, directions_, energy_);
    if (c.directions < 0) return false;
    if (c.directions == 0) {
      if (directions_ == 0) return false;
      directions_ = 0; // rounding has worn out the last directions
      return true;
    }
    outcome_.counts.truncations += c.directions < steps_;
    advance(basis_, directions_, c.directions, c.b, c.a, x_, r_);
    directions_ = c.directions;
    energy_ = c.energy;
    outcome_.iterations += c.directions;
    ++outcome_.counts.blocks;
    return true;
  }

  StepOutcome finish(bool converged, const char *reason, double start) {
    outcome_.solve_seconds = MPI_Wtime() - start;
    outcome_.converged = converged;
    outcome_.reason = reason;
    if (!converged) confirmed();
    return outcome_;
  }

  const Linear &matrix_;
  std::span<const double> b_;
  std::span<double> x_;
  SolveSettings settings_;
  Interval interval_;
  int steps_;
  StepVectors basis_;
  std::vector<double> r_, inverse_;
  std::array<double, 2 * square + 2 * stride + 1> sums_{};
  Small energy_{};
  int directions_ = 0; // in use of the last block
  int failed_ = 0;
  double norm_ = 0, smallest_ = 0, replaced_ = 0;
  StepOutcome outcome_;
};

} // namespace

StepOutcome s_step(const Linear &matrix, std::span<const double> b, std::span<double> x, int steps,
                   const SolveSettings &settings, Interval interval) {
  if (steps < 1 || steps > most_steps)
    throw Error("steps between two Allreduces are 1 to " + std::to_string(most_steps) + ", not " +
                std::to_string(steps));
  return Solver(matrix, b, x, steps, settings, interval).run();
}

} // namespace haloscope::fem
