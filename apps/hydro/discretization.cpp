#include "discretization.hpp"

#include "../common/mpi.hpp"
#include "../common/simd.hpp"

#include <cmath>

namespace hydro {

namespace {

// Several partial sums: a compiler may not reorder a single one, and could not vectorise it.
APPS_FAST double dot_row(const double *a, const double *b, std::size_t n) {
  constexpr std::size_t parts = 8;
  double partial[parts] = {};
  std::size_t i = 0;
  for (; i + parts <= n; i += parts)
    for (std::size_t part = 0; part < parts; ++part) partial[part] += a[i + part] * b[i + part];
  double total = 0;
  for (const double p : partial) total += p;
  for (; i < n; ++i) total += a[i] * b[i];
  return total;
}

double zone_mass(const Discretization &d, int zone) {
  const Vector3 widths = d.zone_widths(d.partition.zone_at(zone));
  return d.materials[static_cast<std::size_t>(zone)].density * widths[0] * widths[1] * widths[2];
}

Vector initial_mass(const Discretization &d) {
  Vector mass;
  mass.reserve(in_batches(d.partition, d.points()));
  std::array<double, lanes> zone_masses{};
  for (int batch = 0; batch < d.partition.batches(); ++batch) {
    zone_masses.fill(0);
    for (int lane = 0; lane < d.partition.used(batch); ++lane)
      zone_masses[static_cast<std::size_t>(lane)] = zone_mass(d, batch * lanes + lane);
    for (int k = 0; k < d.points(); ++k)
      for (int j = 0; j < d.points(); ++j)
        for (int i = 0; i < d.points(); ++i)
          for (const double zone : zone_masses) mass.push_back(zone * d.weight(i, j, k));
  }
  return mass;
}

} // namespace

Discretization::Discretization(const Parameters &p, const Partition &partition_)
    : partition(partition_), kinematic_order(p.kinematic_order), thermodynamic_order(p.thermodynamic_order),
      rule(gauss_rule(p.points_1d())), kinematic_values(lobatto_values(kinematic_order, rule.points)),
      kinematic_slopes(lobatto_slopes(kinematic_order, rule.points)),
      thermodynamic_values(bernstein_values(thermodynamic_order, rule.points)) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    edges[axis] = mesh_edges(p, axis);
    length *= p.widths()[axis] / p.zones()[axis];
  }
  length = std::cbrt(length) / kinematic_order;
  for (int n = 0; n < partition.zone_count(); ++n) {
    const Int3 zone = partition.zone_at(n);
    materials.push_back(material_of(
        p, {coordinate(0, zone[0], 0.5), coordinate(1, zone[1], 0.5), coordinate(2, zone[2], 0.5)}));
  }
  mass = initial_mass(*this);
}

Vector3 Discretization::zone_widths(const Int3 &zone) const {
  Vector3 widths{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto at = static_cast<std::size_t>(partition.origin()[axis] + zone[axis]);
    widths[axis] = edges[axis][at + 1] - edges[axis][at];
  }
  return widths;
}

double Discretization::coordinate(std::size_t axis, int zone, double within) const {
  const auto at = static_cast<std::size_t>(partition.origin()[axis] + zone);
  return edges[axis][at] + within * (edges[axis][at + 1] - edges[axis][at]);
}

double sum(double local) {
  double global = 0;
  MPI_Allreduce(&local, &global, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return global;
}

double dot_nodes(const Partition &partition, const Vector &a, const Vector &b) {
  double local = 0;
  partition.for_owned_rows([&](std::size_t at, int count) {
    local += dot_row(a.data() + at, b.data() + at, static_cast<std::size_t>(count));
  });
  return sum(local);
}

double dot_energies(const Vector &a, const Vector &b) { return sum(dot_row(a.data(), b.data(), a.size())); }

} // namespace hydro
