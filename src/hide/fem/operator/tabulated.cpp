#include "hide/fem/operator/tabulated.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace haloscope::fem {

namespace {

constexpr int newton_steps = 20;

struct Legendre {
  double value, slope;
};

// On [−1, 1], inside.
Legendre legendre(int degree, double x) {
  double previous = 1, value = x;
  for (int i = 2; i <= degree; i++) {
    const double next = ((2 * i - 1) * x * value - (i - 1) * previous) / i;
    previous = value;
    value = next;
  }
  return {value, degree * (x * value - previous) / (x * x - 1)};
}

void gauss(int count, std::vector<double> &points, std::vector<double> &weights) {
  for (int i = count; i-- > 0;) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5));
    for (int step = 0; step < newton_steps; step++) {
      const Legendre p = legendre(count, x);
      x -= p.value / p.slope;
    }
    const double slope = legendre(count, x).slope;
    points.push_back((1 + x) / 2);
    weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
}

// Zeros of the Legendre polynomial's slope, and both ends.
std::vector<double> gauss_lobatto(int degree) {
  std::vector<double> points{0};
  for (int i = 1; i < degree; i++) {
    double x = -std::cos(std::numbers::pi * i / degree);
    for (int step = 0; step < newton_steps; step++) {
      const Legendre p = legendre(degree, x);
      const double bend = (2 * x * p.slope - degree * (degree + 1) * p.value) / (1 - x * x);
      x -= p.slope / bend;
    }
    points.push_back((1 + x) / 2);
  }
  points.push_back(1);
  return points;
}

double lagrange(const std::vector<double> &points, std::size_t i, double x) {
  double value = 1;
  for (std::size_t j = 0; j < points.size(); j++)
    if (j != i) value *= (x - points[j]) / (points[i] - points[j]);
  return value;
}

double lagrange_slope(const std::vector<double> &points, std::size_t i, double x) {
  double sum = 0;
  for (std::size_t k = 0; k < points.size(); k++) {
    if (k == i) continue;
    double term = 1 / (points[i] - points[k]);
    for (std::size_t j = 0; j < points.size(); j++)
      if (j != i && j != k) term *= (x - points[j]) / (points[i] - points[j]);
    sum += term;
  }
  return sum;
}

} // namespace

Tabulated::Tabulated(int degree, int wanted) : nodes(degree + 1), count(wanted > 0 ? wanted : degree + 1) {
  gauss(count, points, weights);
  const std::vector<double> lobatto = gauss_lobatto(degree);
  for (const double x : points)
    for (std::size_t i = 0; i < lobatto.size(); i++) {
      values.push_back(lagrange(lobatto, i, x));
      slopes.push_back(lagrange_slope(lobatto, i, x));
    }
  for (int half = 0; half < 2; half++)
    for (const double x : lobatto)
      for (std::size_t i = 0; i < lobatto.size(); i++)
        halves[half].push_back(lagrange(lobatto, i, (x + half) / 2));
}

} // namespace haloscope::fem
