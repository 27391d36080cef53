#include "quadrature.hpp"

#include <cmath>
#include <numbers>

namespace sweep {

namespace {

struct Node {
  double at, weight;
};

// The nodes of Gauss-Legendre quadrature with 2·half points that are positive: Newton's method on the
// Legendre polynomial, whose roots are near those cosines.
std::vector<Node> positive_nodes(int half) {
  const int order = 2 * half;
  std::vector<Node> nodes;
  for (int root = 0; root < half; ++root) {
    double x = std::cos(std::numbers::pi * (root + 0.75) / (order + 0.5));
    double slope = 0;
    for (int step = 0; step < 20; ++step) {
      double p = 1, before = 0;
      for (int n = 1; n <= order; ++n) {
        const double next = ((2 * n - 1) * x * p - (n - 1) * before) / n;
        before = p;
        p = next;
      }
      slope = order * (x * p - before) / (x * x - 1);
      x -= p / slope;
    }
    nodes.push_back({x, 2 / ((1 - x * x) * slope * slope)});
  }
  return nodes;
}

} // namespace

std::vector<Direction> product_quadrature(int polar, int azimuthal) {
  const double step = std::numbers::pi / 2 / azimuthal;
  std::vector<Direction> directions;
  for (const Node &node : positive_nodes(polar))
    for (int a = 0; a < azimuthal; ++a) {
      const double sine = std::sqrt(1 - node.at * node.at);
      const double angle = (a + 0.5) * step;
      directions.push_back({{sine * std::cos(angle), sine * std::sin(angle), node.at}, node.weight * step});
    }
  return directions;
}

} // namespace sweep
