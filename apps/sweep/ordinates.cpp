#include "ordinates.hpp"

#include <cmath>
#include <numbers>

namespace sweep {

Medium make_medium(int groups, double total, double scattering) {
  constexpr double share_within = 0.75;
  Medium m;
  double lost_above = 0, flux_above = 0;
  for (int g = 0; g < groups; ++g) {
    const double scale = 1 + static_cast<double>(g) / groups;
    const bool last = g + 1 == groups;
    const double within = scattering * scale * (last ? 1 : share_within);
    m.total.push_back(total * scale);
    m.within.push_back(within);
    m.down.push_back(lost_above);
    m.absorption.push_back((total - scattering) * scale);
    m.equilibrium.push_back((1 + lost_above * flux_above) / (total * scale - within));
    lost_above = scattering * scale - within;
    flux_above = m.equilibrium.back();
  }
  return m;
}

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

Ordinates::Ordinates(const Parameters &p, const Medium &medium)
    : width_(p.width), sets_per_octant_(p.sets_per_octant()), directions_per_set_(p.directions_per_set()),
      groups_(p.groups), groups_per_set_(p.groups_per_set()) {
  const auto directions = product_quadrature(p.polar, p.azimuthal);
  for (const Direction &d : directions) {
    weight_.push_back(d.weight);
    for (std::size_t axis = 0; axis < 3; ++axis) streaming_[axis].push_back(2 * d.cosine[axis] / p.width);
  }
  const auto per_set = static_cast<std::size_t>(directions_per_set_);
  for (std::size_t first = 0; first < directions.size(); first += per_set)
    for (const double total : medium.total)
      for (std::size_t d = first; d < first + per_set; ++d)
        inverse_.push_back(1 / (total + streaming_[0][d] + streaming_[1][d] + streaming_[2][d]));
}

Coefficients Ordinates::coefficients(int direction_set, int group_set) const {
  const int set = direction_set % sets_per_octant_;
  const std::ptrdiff_t first = std::ptrdiff_t{set} * directions_per_set_;
  const std::ptrdiff_t group = std::ptrdiff_t{set} * groups_ + std::ptrdiff_t{group_set} * groups_per_set_;
  return {directions_per_set_,
          groups_per_set_,
          {streaming_[0].data() + first, streaming_[1].data() + first, streaming_[2].data() + first},
          weight_.data() + first,
          inverse_.data() + group * directions_per_set_};
}

double Ordinates::current(const std::vector<double> &plane, std::size_t axis, const Coefficients &c) const {
  const auto directions = static_cast<std::size_t>(c.directions);
  std::vector<double> sums(directions); // over faces and groups
  for (std::size_t first = 0; first < plane.size(); first += directions)
    for (std::size_t d = 0; d < directions; ++d) sums[d] += plane[first + d];
  double carried = 0;
  for (std::size_t d = 0; d < directions; ++d) carried += c.weight[d] * c.streaming[axis][d] * sums[d];
  return carried * (width_ / 2) * width_ * width_; // streaming is 2 |cosine| / width
}

} // namespace sweep
