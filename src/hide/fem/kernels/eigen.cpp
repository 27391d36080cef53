#include "hide/fem/kernels/eigen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace haloscope::fem::kernels {
namespace {

Matrix cholesky(const Matrix &b) {
  Matrix lower(b.size);
  for (int i = 0; i < b.size; ++i)
    for (int j = 0; j <= i; ++j) {
      double rest = b(i, j);
      for (int k = 0; k < j; ++k) rest -= lower(i, k) * lower(j, k);
      lower(i, j) = i == j ? std::sqrt(rest) : rest / lower(j, j);
    }
  return lower;
}

// L⁻¹ times each column.
Matrix solved(const Matrix &lower, Matrix right) {
  for (int column = 0; column < right.size; ++column)
    for (int i = 0; i < right.size; ++i) {
      for (int k = 0; k < i; ++k) right(i, column) -= lower(i, k) * right(k, column);
      right(i, column) /= lower(i, i);
    }
  return right;
}

// One rotation of Jacobi's method, which makes a(p, q) zero.
void rotate(Matrix &a, Matrix &vectors, int p, int q) {
  if (a(p, q) == 0) return;
  const double angle = (a(q, q) - a(p, p)) / (2 * a(p, q));
  const double t = std::copysign(1 / (std::abs(angle) + std::hypot(1, angle)), angle);
  const double c = 1 / std::hypot(1, t), s = t * c;
  for (int k = 0; k < a.size; ++k) {
    const double left = a(k, p), right = a(k, q);
    a(k, p) = c * left - s * right, a(k, q) = s * left + c * right;
  }
  for (int k = 0; k < a.size; ++k) {
    const double left = a(p, k), right = a(q, k);
    a(p, k) = c * left - s * right, a(q, k) = s * left + c * right;
    const double first = vectors(k, p), second = vectors(k, q);
    vectors(k, p) = c * first - s * second, vectors(k, q) = s * first + c * second;
  }
}

// Rounding must not mix even and odd.
void make_even_or_odd(Matrix &modes) {
  for (int m = 0; m < modes.size; ++m)
    for (int i = 0, mirrored = modes.size - 1; i <= mirrored; ++i, --mirrored) {
      const double sign = m % 2 == 0 ? 1 : -1;
      modes(m, i) = (modes(m, i) + sign * modes(m, mirrored)) / 2;
      modes(m, mirrored) = sign * modes(m, i);
    }
}

} // namespace

std::vector<double> diagonalise(const Matrix &a, const Matrix &b, Matrix &modes) {
  const int n = a.size;
  const Matrix lower = cholesky(b);
  Matrix rest = solved(lower, solved(lower, a).transposed());
  Matrix vectors(n);
  for (int i = 0; i < n; ++i) vectors(i, i) = 1;
  for (int sweep = 0; sweep < 30; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) rotate(rest, vectors, p, q);
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&rest](int i) { return rest(i, i); });
  std::vector<double> eigenvalues;
  for (int m = 0; m < n; ++m) {
    const int from = order[static_cast<std::size_t>(m)];
    eigenvalues.push_back(rest(from, from));
    for (int i = 0; i < n; ++i) {
      modes(m, i) = 0;
      for (int j = 0; j <= i; ++j) modes(m, i) += vectors(j, from) * lower(i, j);
    }
  }
  make_even_or_odd(modes);
  return eigenvalues;
}

} // namespace haloscope::fem::kernels
