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

// The density is 1 at the start.
Vector initial_mass(const Discretization &d) {
  Vector mass;
  mass.reserve(in_batches(d.partition, d.points()));
  const double volume = d.zone_widths[0] * d.zone_widths[1] * d.zone_widths[2];
  for (int batch = 0; batch < d.partition.batches(); ++batch)
    for (int k = 0; k < d.points(); ++k)
      for (int j = 0; j < d.points(); ++j)
        for (int i = 0; i < d.points(); ++i)
          for (int lane = 0; lane < lanes; ++lane)
            mass.push_back(lane < d.partition.used(batch) ? volume * d.weight(i, j, k) : 0.0);
  return mass;
}

} // namespace

Discretization::Discretization(const Parameters &p, const Partition &partition_)
    : partition(partition_), kinematic_order(p.kinematic_order), thermodynamic_order(p.thermodynamic_order),
      rule(gauss_rule(p.points_1d())), kinematic_values(lobatto_values(kinematic_order, rule.points)),
      kinematic_slopes(lobatto_slopes(kinematic_order, rule.points)),
      thermodynamic_values(bernstein_values(thermodynamic_order, rule.points)) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    zone_widths[axis] = p.widths()[axis] / p.zones()[axis];
    length *= zone_widths[axis];
  }
  length = std::cbrt(length) / kinematic_order;
  mass = initial_mass(*this);
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
