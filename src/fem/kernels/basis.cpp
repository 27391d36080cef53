#include "fem/kernels/basis.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace haloscope::fem {

namespace {

// P_degree and its derivative at x in (-1, 1).
std::pair<double, double> legendre(int degree, double x) {
  double before = 1, value = x;
  for (int k = 2; k <= degree; ++k)
    before = std::exchange(value, ((2 * k - 1) * x * value - (k - 1) * before) / k);
  return {value, degree * (before - x * value) / (1 - x * x)};
}

// Newton's method, with the symmetry about the middle restored to the last bit.
template <typename Correction> std::vector<double> roots(int count, Correction correction) {
  std::vector<double> found;
  for (int i = 0; i < count; ++i) {
    double x = -std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5));
    for (int step = 0; step < 50; ++step) x -= correction(x);
    found.push_back((1 + x) / 2);
  }
  const auto size = found.size();
  for (std::size_t i = 0; i < size / 2; ++i) {
    found[i] = (found[i] + (1 - found[size - 1 - i])) / 2;
    found[size - 1 - i] = 1 - found[i];
  }
  if (count % 2 == 1) found[size / 2] = 0.5;
  return found;
}

} // namespace

std::vector<double> gauss_points(int count) {
  return roots(count, [count](double x) {
    const auto [value, slope] = legendre(count, x);
    return value / slope;
  });
}

// The ends, and between them the extrema of a Legendre polynomial, whose curvature follows from its equation.
std::vector<double> lobatto_points(int degree) {
  std::vector<double> nodes{0};
  const auto inner = roots(degree - 1, [degree](double x) {
    const auto [value, slope] = legendre(degree, x);
    return slope * (1 - x * x) / (2 * x * slope - degree * (degree + 1) * value);
  });
  nodes.insert(nodes.end(), inner.begin(), inner.end());
  nodes.push_back(1);
  return nodes;
}

std::vector<double> lagrange(const std::vector<double> &points, double x) {
  std::vector<double> values(points.size(), 1);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < points.size(); ++j)
      if (j != i) values[i] *= (x - points[j]) / (points[i] - points[j]);
  return values;
}

std::vector<double> lagrange_derivatives(const std::vector<double> &points, double x) {
  std::vector<double> values(points.size(), 0);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t left_out = 0; left_out < points.size(); ++left_out) {
      if (left_out == i) continue;
      double term = 1 / (points[i] - points[left_out]);
      for (std::size_t j = 0; j < points.size(); ++j)
        if (j != i && j != left_out) term *= (x - points[j]) / (points[i] - points[j]);
      values[i] += term;
    }
  return values;
}

} // namespace haloscope::fem

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
Matrix solve_lower(const Matrix &lower, Matrix right) {
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
  Matrix rest = solve_lower(lower, solve_lower(lower, a).transposed());
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

namespace {

std::vector<double> gauss_weights(const std::vector<double> &points) {
  std::vector<double> weights;
  for (const double point : points) {
    const double x = 2 * point - 1;
    const double slope = legendre(static_cast<int>(points.size()), x).second;
    weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return weights;
}

template <typename Row> Matrix rows(const std::vector<double> &places, Row row) {
  Matrix matrix(static_cast<int>(places.size()));
  for (int i = 0; i < matrix.size; ++i) {
    const std::vector<double> values = row(places[static_cast<std::size_t>(i)]);
    for (int j = 0; j < matrix.size; ++j) matrix(i, j) = values[static_cast<std::size_t>(j)];
  }
  return matrix;
}

// ∫ of products of the columns, from their values at the points.
Matrix integral(const Matrix &values, const std::vector<double> &weights) {
  Matrix matrix(values.size);
  for (int i = 0; i < matrix.size; ++i)
    for (int j = 0; j < matrix.size; ++j)
      for (int q = 0; q < matrix.size; ++q)
        matrix(i, j) += weights[static_cast<std::size_t>(q)] * values(q, i) * values(q, j);
  return matrix;
}

} // namespace

Matrix Matrix::transposed() const {
  Matrix other(size);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) other(i, j) = (*this)(j, i);
  return other;
}

Basis::Basis(int degree)
    : degree(degree), nodes(lobatto_points(degree)), points(gauss_points(degree + 1)),
      weights(gauss_weights(points)),
      interpolate(rows(points, [this](double x) { return lagrange(nodes, x); })),
      derive(rows(points, [this](double x) { return lagrange_derivatives(points, x); })),
      stiffness(integral(rows(points, [this](double x) { return lagrange_derivatives(nodes, x); }), weights)),
      mass(integral(interpolate, weights)), modes(degree + 1),
      lower(rows(nodes, [this](double x) { return lagrange(nodes, x / 2); })),
      upper(rows(nodes, [this](double x) { return lagrange(nodes, (1 + x) / 2); })) {
  eigenvalues = diagonalise(stiffness, mass, modes);
}

} // namespace haloscope::fem::kernels
