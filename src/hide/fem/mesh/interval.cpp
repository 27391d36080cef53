#include "hide/fem/mesh/interval.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace haloscope::fem {

namespace {

struct Legendre {
  double value, derivative, second;
};

// On [−1, 1], inside.
Legendre legendre(int degree, double x) {
  double before = 1, now = x;
  if (degree == 0) return {1, 0, 0};
  for (int n = 2; n <= degree; n++) {
    const double next = ((2 * n - 1) * x * now - (n - 1) * before) / n;
    before = now, now = next;
  }
  const double derivative = degree * (before - x * now) / (1 - x * x);
  const double second = (2 * x * derivative - degree * (degree + 1.0) * now) / (1 - x * x);
  return {now, derivative, second};
}

constexpr int newton_steps = 50; // a few are enough; all are over in a microsecond

} // namespace

std::vector<double> lobatto_points(int degree) {
  std::vector<double> points(static_cast<std::size_t>(degree) + 1);
  points.back() = 1;
  for (int i = 1; i < degree; i++) {
    double x = -std::cos(std::numbers::pi * i / degree);
    for (int step = 0; step < newton_steps; step++) {
      const Legendre at = legendre(degree, x);
      x -= at.derivative / at.second;
    }
    points[static_cast<std::size_t>(i)] = (1 + x) / 2;
  }
  return points;
}

std::vector<double> gauss_points(int count) {
  std::vector<double> points(static_cast<std::size_t>(count));
  for (int i = 0; i < count; i++) {
    double x = -std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5));
    for (int step = 0; step < newton_steps; step++) {
      const Legendre at = legendre(count, x);
      x -= at.value / at.derivative;
    }
    points[static_cast<std::size_t>(i)] = (1 + x) / 2;
  }
  return points;
}

std::vector<double> lagrange(const std::vector<double> &points, double x) {
  std::vector<double> values(points.size(), 1.0);
  for (std::size_t i = 0; i < points.size(); i++)
    for (std::size_t j = 0; j < points.size(); j++)
      if (i != j) values[i] *= (x - points[j]) / (points[i] - points[j]);
  return values;
}

} // namespace haloscope::fem
