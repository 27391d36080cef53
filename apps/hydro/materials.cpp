#include "materials.hpp"

#include <algorithm>

namespace hydro {

namespace {

// Laghos's data/box01_hex.mesh along x: its first column is half as wide, because a material ends there.
constexpr std::array triple_point_edges{0.0, 1.0, 3.0, 5.0, 7.0};

// High pressure in the first column. Behind it, gas of low density in two of four quarters.
Material triple_point(const Vector3 &centre) {
  const bool first = centre[0] < 1, low = centre[1] < 1.5, near = centre[2] < 1.5;
  const double gamma = !first && low ? 1.4 : 1.5;
  const double density = !first && low == near ? 0.125 : 1;
  const double pressure = first ? 1 : 0.1;
  return {gamma, density, pressure / (density * (gamma - 1))};
}

} // namespace

Material material_of(const Parameters &p, const Vector3 &centre) {
  if (p.is_triple_point()) return triple_point(centre);
  return {p.problem == 1 ? 1.4 : 5.0 / 3.0, 1, 0};
}

Vector mesh_edges(const Parameters &p, std::size_t axis) {
  const int zones = p.zones()[axis];
  Vector edges;
  for (int n = 0; n <= zones; ++n) {
    if (p.is_triple_point() && axis == 0) {
      const int fine = zones / static_cast<int>(triple_point_edges.size() - 1);
      const auto coarse = static_cast<std::size_t>(std::min(n / fine, zones / fine - 1));
      const double within = n - static_cast<double>(coarse) * fine;
      const double first = triple_point_edges[coarse], last = triple_point_edges[coarse + 1];
      edges.push_back(first + (last - first) * within / fine);
    } else {
      edges.push_back(n * p.widths()[axis] / zones);
    }
  }
  return edges;
}

} // namespace hydro
