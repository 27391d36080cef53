#include "polynomials.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace hydro {

namespace {

// The Legendre polynomial of degree n on [-1, 1], and its first two derivatives.
struct Legendre {
  double value, slope, curvature;

  Legendre(int n, double x) {
    double before = 0;
    value = 1;
    slope = 0;
    for (int k = 1; k <= n; ++k) {
      const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
      slope = k * value + x * slope;
      before = std::exchange(value, next);
    }
    curvature = (2 * x * slope - n * (n + 1) * value) / (1 - x * x);
  }
};

constexpr int newton_steps = 20; // far more than needed: it converges quadratically

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Solves a square system by elimination with pivots; `matrix` by rows.
Vector inverse(int n, Vector matrix) {
  Vector result(at(n * n), 0.0);
  for (int i = 0; i < n; ++i) result[at(i * n + i)] = 1;
  for (int column = 0; column < n; ++column) {
    int pivot = column;
    for (int row = column; row < n; ++row)
      if (std::abs(matrix[at(row * n + column)]) > std::abs(matrix[at(pivot * n + column)])) pivot = row;
    for (int i = 0; i < n; ++i) {
      std::swap(matrix[at(pivot * n + i)], matrix[at(column * n + i)]);
      std::swap(result[at(pivot * n + i)], result[at(column * n + i)]);
    }
    for (int row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = matrix[at(row * n + column)] / matrix[at(column * n + column)];
      for (int i = 0; i < n; ++i) {
        matrix[at(row * n + i)] -= factor * matrix[at(column * n + i)];
        result[at(row * n + i)] -= factor * result[at(column * n + i)];
      }
    }
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) result[at(i * n + j)] /= matrix[at(i * n + i)];
  return result;
}

double binomial(int n, int k) {
  double result = 1;
  for (int i = 1; i <= k; ++i) result = result * (n - k + i) / i;
  return result;
}

// The product of (x - node) over the nodes other than `without` and `also`, over that at node `one`.
double product(const Vector &nodes, double x, int one, int also) {
  double result = 1;
  for (int m = 0; m < static_cast<int>(nodes.size()); ++m)
    if (m != one && m != also) result *= (x - nodes[at(m)]) / (nodes[at(one)] - nodes[at(m)]);
  return result;
}

} // namespace

Rule gauss_rule(int points) {
  Rule rule;
  for (int i = 0; i < points; ++i) {
    double x = -std::cos(std::numbers::pi * (i + 0.75) / (points + 0.5));
    for (int step = 0; step < newton_steps; ++step) {
      const Legendre p(points, x);
      x -= p.value / p.slope;
    }
    const double slope = Legendre(points, x).slope;
    rule.points.push_back(0.5 * (1 + x));
    rule.weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

Vector lobatto_points(int order) {
  Vector points{0};
  for (int i = 1; i < order; ++i) {
    double x = -std::cos(std::numbers::pi * i / order);
    for (int step = 0; step < newton_steps; ++step) {
      const Legendre p(order, x);
      x -= p.slope / p.curvature;
    }
    points.push_back(0.5 * (1 + x));
  }
  points.push_back(1);
  return points;
}

Table make_table(int rows, int columns, Vector entries) {
  Vector transposed(entries.size());
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) transposed[at(c * rows + r)] = entries[at(r * columns + c)];
  return {rows, columns, std::move(entries), std::move(transposed)};
}

Table lobatto_values(int order, const Vector &points) {
  const Vector nodes = lobatto_points(order);
  Vector entries;
  for (const double x : points)
    for (int i = 0; i <= order; ++i) entries.push_back(product(nodes, x, i, i));
  return make_table(static_cast<int>(points.size()), order + 1, std::move(entries));
}

Table lobatto_slopes(int order, const Vector &points) {
  const Vector nodes = lobatto_points(order);
  Vector entries;
  for (const double x : points)
    for (int i = 0; i <= order; ++i) {
      double slope = 0;
      for (int j = 0; j <= order; ++j)
        if (j != i) slope += product(nodes, x, i, j) / (nodes[at(i)] - nodes[at(j)]);
      entries.push_back(slope);
    }
  return make_table(static_cast<int>(points.size()), order + 1, std::move(entries));
}

Table bernstein_values(int order, const Vector &points) {
  Vector entries;
  for (const double x : points)
    for (int i = 0; i <= order; ++i)
      entries.push_back(binomial(order, i) * std::pow(x, i) * std::pow(1 - x, order - i));
  return make_table(static_cast<int>(points.size()), order + 1, std::move(entries));
}

Table bernstein_from_gauss(int order) {
  const Table values = bernstein_values(order, gauss_rule(order + 1).points);
  return make_table(order + 1, order + 1, inverse(order + 1, values.entries));
}

} // namespace hydro
