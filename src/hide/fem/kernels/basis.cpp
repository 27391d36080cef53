#include "hide/fem/kernels/basis.hpp"

#include "hide/fem/kernels/eigen.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace haloscope::fem::kernels {
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

std::vector<double> gauss_points(int count) {
  return roots(count, [count](double x) {
    const auto [value, slope] = legendre(count, x);
    return value / slope;
  });
}

std::vector<double> gauss_weights(const std::vector<double> &points) {
  std::vector<double> weights;
  for (const double point : points) {
    const double x = 2 * point - 1;
    const double slope = legendre(static_cast<int>(points.size()), x).second;
    weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return weights;
}

// The ends, and between them the extrema of a Legendre polynomial, whose curvature follows from its equation.
std::vector<double> lobatto_nodes(int degree) {
  std::vector<double> nodes{0};
  const auto inner = roots(degree - 1, [degree](double x) {
    const auto [value, slope] = legendre(degree, x);
    return slope * (1 - x * x) / (2 * x * slope - degree * (degree + 1) * value);
  });
  nodes.insert(nodes.end(), inner.begin(), inner.end());
  nodes.push_back(1);
  return nodes;
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

std::vector<double> lagrange(const std::vector<double> &places, double x) {
  std::vector<double> values(places.size(), 1);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = 0; j < places.size(); ++j)
      if (j != i) values[i] *= (x - places[j]) / (places[i] - places[j]);
  return values;
}

std::vector<double> lagrange_derivatives(const std::vector<double> &places, double x) {
  std::vector<double> values(places.size(), 0);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t left_out = 0; left_out < places.size(); ++left_out) {
      if (left_out == i) continue;
      double term = 1 / (places[i] - places[left_out]);
      for (std::size_t j = 0; j < places.size(); ++j)
        if (j != i && j != left_out) term *= (x - places[j]) / (places[i] - places[j]);
      values[i] += term;
    }
  return values;
}

Basis::Basis(int degree)
    : degree(degree), nodes(lobatto_nodes(degree)), points(gauss_points(degree + 1)),
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
