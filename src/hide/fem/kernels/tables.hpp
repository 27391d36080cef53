// The matrices of one direction, split into what acts on even and on odd parts: half the multiplications.
#pragma once

#include "hide/fem/kernels/basis.hpp"
#include "hide/fem/kernels/lanes.hpp"

namespace haloscope::fem::kernels {

// A matrix with a(n-1-i, n-1-j) = ±a(i, j): acts on u_i + u_{n-1-i} and on u_i − u_{n-1-i} apart.
template <int n> struct Halves {
  static constexpr int half = n / 2, wide = (n + 1) / 2;

  explicit Halves(const Matrix &a) {
    for (int i = 0; i < wide; ++i) {
      for (int j = 0; j < half; ++j) {
        even[i][j] = (a(i, j) + a(i, n - 1 - j)) / 2;
        odd[i][j] = (a(i, j) - a(i, n - 1 - j)) / 2;
      }
      if (wide > half) even[i][half] = a(i, half);
    }
  }
  double even[wide][wide] = {}, odd[wide][wide] = {};
};

// All even modes first, then the odd ones.
template <int n> struct Modes {
  static constexpr int half = n / 2, wide = (n + 1) / 2;

  explicit Modes(const Basis &basis) {
    for (int m = 0; m < n; ++m) {
      const int place = m % 2 == 0 ? m / 2 : wide + m / 2;
      eigenvalues[place] = m == 0 ? 0 : basis.eigenvalues[static_cast<std::size_t>(m)];
      for (int i = 0; i < wide; ++i) (m % 2 == 0 ? even : odd)[m / 2][i] = basis.modes(m, i);
    }
  }
  double even[wide][wide] = {}, odd[wide][wide] = {}; // a row a mode
  double eigenvalues[n] = {};
};

template <int n> struct Tables {
  explicit Tables(const Basis &basis)
      : interpolate(basis.interpolate), interpolate_back(basis.interpolate.transposed()),
        derive(basis.derive), derive_back(basis.derive.transposed()), modes(basis) {
    for (int i = 0; i < n; ++i) {
      points[i] = basis.points[static_cast<std::size_t>(i)];
      weights[i] = basis.weights[static_cast<std::size_t>(i)];
      for (int j = 0; j < n; ++j) halves[0][i][j] = basis.lower(i, j), halves[1][i][j] = basis.upper(i, j);
    }
  }
  double points[n], weights[n];
  Halves<n> interpolate, interpolate_back, derive, derive_back;
  Modes<n> modes;
  double halves[2][n][n];
};

template <int n> const Tables<n> &tables() {
  static const Tables<n> of_degree{Basis(n - 1)};
  return of_degree;
}

} // namespace haloscope::fem::kernels
