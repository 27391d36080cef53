#include "mass_solvers.hpp"

#include "../common/simd.hpp"

#include <algorithm>
#include <haloscope/region.hpp>

namespace hydro {

namespace {

APPS_FAST void multiply(const double *a, const double *b, double *c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] * b[i];
}

Table squared(const Table &table) {
  Vector entries = table.entries;
  for (double &entry : entries) entry *= entry;
  return make_table(table.rows, table.columns, std::move(entries));
}

} // namespace

KinematicMass::KinematicMass(const Discretization &d, SharedNodes &shared, Stop stop)
    : d_(d), shared_(shared), tensors_(d.kinematic_values), solver_(d.partition.node_count(), stop),
      nodes_(d.partition.node_count()), values_(tensor_size(d.kinematic_order + 1)),
      points_(tensor_size(d.points())) {
  inverse_diagonal_ = inverse_diagonal();
}

Vector KinematicMass::inverse_diagonal() {
  TensorProduct squares(squared(d_.kinematic_values));
  Vector diagonal(d_.partition.node_count(), 0.0);
  for (int batch = 0; batch < d_.partition.batches(); ++batch) {
    squares.integrate(d_.mass.data() + static_cast<std::size_t>(batch) * points_.size(), values_.data());
    d_.partition.scatter_add(batch, values_.data(), diagonal.data());
  }
  shared_.reduce(diagonal.data());
  std::ranges::transform(diagonal, diagonal.begin(), [](double value) { return 1 / value; });
  return diagonal;
}

// v · n = 0.
void KinematicMass::clear_sides(std::size_t axis, Vector &field) const {
  const Partition &p = d_.partition;
  const auto clear = [&](int layer) {
    NodeBox box{{0, 0, 0}, {p.nodes()[0] - 1, p.nodes()[1] - 1, p.nodes()[2] - 1}};
    box.first[axis] = box.last[axis] = layer;
    for (int k = box.first[2]; k <= box.last[2]; ++k)
      for (int j = box.first[1]; j <= box.last[1]; ++j)
        for (int i = box.first[0]; i <= box.last[0]; ++i) field[p.node_at(i, j, k)] = 0;
  };
  if (p.origin()[axis] == 0) clear(0);
  if (p.origin()[axis] + p.zones()[axis] == p.all_zones()[axis]) clear(p.nodes()[axis] - 1);
}

// x and y are right where the rank owns nodes, which is all that conjugate gradients look at.
void KinematicMass::apply(std::size_t axis, const Vector &x, Vector &y) {
  nodes_ = x;
  shared_.broadcast(nodes_.data());
  std::ranges::fill(y, 0.0);
  for (int batch = 0; batch < d_.partition.batches(); ++batch) {
    d_.partition.gather(batch, nodes_.data(), values_.data());
    tensors_.interpolate(values_.data(), points_.data());
    multiply(d_.mass.data() + static_cast<std::size_t>(batch) * points_.size(), points_.data(),
             points_.data(), points_.size());
    tensors_.integrate(points_.data(), values_.data());
    d_.partition.scatter_add(batch, values_.data(), y.data());
  }
  shared_.reduce(y.data());
  clear_sides(axis, y);
}

int KinematicMass::solve(std::size_t axis, Vector &force, Vector &acceleration) {
  const haloscope::Region region{"velocity_solve"};
  shared_.reduce(force.data());
  clear_sides(axis, force);
  std::ranges::fill(acceleration, 0.0);
  const int iterations = solver_.solve(
      force, acceleration, [&](const Vector &x, Vector &y) { apply(axis, x, y); },
      [&](const Vector &r, Vector &z) { multiply(inverse_diagonal_.data(), r.data(), z.data(), r.size()); },
      [&](const Vector &a, const Vector &b) { return dot_nodes(d_.partition, a, b); });
  shared_.broadcast(acceleration.data());
  return iterations;
}

ThermodynamicMass::ThermodynamicMass(const Discretization &d, Stop stop)
    : d_(d), tensors_(d.thermodynamic_values), solver_(d.energy_count(), stop),
      points_(tensor_size(d.points())) {}

void ThermodynamicMass::apply(const Vector &x, Vector &y) {
  for (int batch = 0; batch < d_.partition.batches(); ++batch) {
    const auto number = static_cast<std::size_t>(batch);
    const std::size_t at = number * tensor_size(d_.energies());
    tensors_.interpolate(x.data() + at, points_.data());
    multiply(d_.mass.data() + number * points_.size(), points_.data(), points_.data(), points_.size());
    tensors_.integrate(points_.data(), y.data() + at);
  }
}

int ThermodynamicMass::solve(const Vector &power, Vector &heating) {
  const haloscope::Region region{"energy_solve"};
  return solver_.solve_from_zero(
      power, heating, [&](const Vector &x, Vector &y) { apply(x, y); },
      [](const Vector &r, Vector &z) { z = r; }, dot_energies);
}

} // namespace hydro
