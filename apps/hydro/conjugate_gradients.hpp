// Conjugate gradients with the same number of products and sums over ranks as MFEM's solver.
#ifndef APPS_HYDRO_CONJUGATE_GRADIENTS_HPP
#define APPS_HYDRO_CONJUGATE_GRADIENTS_HPP

#include "polynomials.hpp"

#include <algorithm>
#include <cstddef>

namespace hydro {

struct Stop {
  double tolerance; // of the residual's norm, relative to the first
  int iterations;
};

// y = x + factor · y, and y = y + factor · x.
void scale_then_add(double factor, const Vector &x, Vector &y);
void add_scaled(double factor, const Vector &x, Vector &y);

// The vectors of a solver, kept from one solution to the next.
class ConjugateGradients {
public:
  ConjugateGradients(std::size_t size, Stop stop) : r_(size), z_(size), d_(size), stop_(stop) {}

  // Solves A x = b; x is the first iterate. `apply(d, z)` is z = A d, `precondition(r, z)` z = M⁻¹ r,
  // `dot(a, b)` a product over all ranks. Returns the number of iterations.
  template <typename Apply, typename Precondition, typename Dot>
  int solve(const Vector &b, Vector &x, Apply &&apply, Precondition &&precondition, Dot &&dot) {
    apply(x, r_);
    scale_then_add(-1, b, r_);
    return iterate(x, apply, precondition, dot);
  }

  // The same from x = 0, without a product for the first residual.
  template <typename Apply, typename Precondition, typename Dot>
  int solve_from_zero(const Vector &b, Vector &x, Apply &&apply, Precondition &&precondition, Dot &&dot) {
    r_ = b;
    std::ranges::fill(x, 0.0);
    return iterate(x, apply, precondition, dot);
  }

private:
  template <typename Apply, typename Precondition, typename Dot>
  int iterate(Vector &x, Apply &&apply, Precondition &&precondition, Dot &&dot) {
    precondition(r_, d_);
    double before = dot(d_, r_);
    const double enough = before * stop_.tolerance * stop_.tolerance;
    if (before <= enough) return 0;
    for (int iteration = 1;; ++iteration) {
      apply(d_, z_);
      const double curvature = dot(z_, d_);
      if (!(curvature > 0)) return iteration; // nothing is left to correct
      add_scaled(before / curvature, d_, x);
      add_scaled(-before / curvature, z_, r_);
      precondition(r_, z_);
      const double now = dot(r_, z_);
      if (now <= enough || iteration >= stop_.iterations) return iteration;
      scale_then_add(now / before, z_, d_);
      before = now;
    }
  }

  Vector r_, z_, d_;
  Stop stop_;
};

} // namespace hydro

#endif
