#include "initial.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hydro {

namespace {

constexpr double pi = std::numbers::pi;

void place_nodes(const Discretization &d, State &state) {
  const Partition &p = d.partition;
  const Vector lobatto = lobatto_points(d.kinematic_order);
  const auto coordinate = [&](std::size_t axis, int node) {
    const int zone = std::min(node / d.kinematic_order, p.zones()[axis] - 1);
    const int within = node - zone * d.kinematic_order;
    return d.coordinate(axis, zone, lobatto[static_cast<std::size_t>(within)]);
  };
  for (int k = 0; k < p.nodes()[2]; ++k)
    for (int j = 0; j < p.nodes()[1]; ++j)
      for (int i = 0; i < p.nodes()[0]; ++i) {
        const std::size_t at = p.node_at(i, j, k);
        state.position[0][at] = coordinate(0, i);
        state.position[1][at] = coordinate(1, j);
        state.position[2][at] = coordinate(2, k);
      }
}

// All of the blast's energy is in the first Bernstein function of the zone at the origin: the eighth that the
// cube has of it.
void add_blast(const Parameters &p, const Discretization &d, State &state) {
  if (d.partition.origin() != Int3{0, 0, 0}) return;
  const Vector3 widths = d.zone_widths({0, 0, 0});
  const double share = std::pow(d.energies(), 3) / (widths[0] * widths[1] * widths[2]);
  state.energy[0] = p.blast_energy / 8 * share;
}

void add_vortex_velocity(State &state) {
  for (std::size_t n = 0; n < state.position[0].size(); ++n) {
    const double x = pi * state.position[0][n], y = pi * state.position[1][n], z = pi * state.position[2][n];
    state.velocity[0][n] = std::sin(x) * std::cos(y) * std::cos(z);
    state.velocity[1][n] = -std::cos(x) * std::sin(y) * std::cos(z);
  }
}

// In Laghos's units: a pressure of 100 and its part that balances the vortex, over (gamma - 1) and density.
double vortex_energy(const Vector3 &place) {
  const auto wave = [&](std::size_t axis) { return std::cos(2 * pi * place[axis]); };
  return 1.5 * (100 + ((wave(2) + 2) * (wave(0) + wave(1)) - 2) / 16);
}

// Equal to the vortex's at the Gauss points of the energy's order.
void add_vortex_energy(const Discretization &d, State &state) {
  const Vector points = gauss_rule(d.energies()).points;
  TensorProduct to_bernstein(bernstein_from_gauss(d.thermodynamic_order));
  Vector values(tensor_size(d.energies()));
  for (int batch = 0; batch < d.partition.batches(); ++batch) {
    for (std::size_t q = 0; q < values.size(); ++q) {
      const int lane = static_cast<int>(q % lanes), n = d.energies(), at = static_cast<int>(q / lanes);
      values[q] = 0;
      if (lane >= d.partition.used(batch)) continue;
      const Int3 zone = d.partition.zone_at(batch * lanes + lane), within{at % n, at / n % n, at / n / n};
      Vector3 place{};
      for (std::size_t axis = 0; axis < 3; ++axis)
        place[axis] = d.coordinate(axis, zone[axis], points[static_cast<std::size_t>(within[axis])]);
      values[q] = vortex_energy(place);
    }
    to_bernstein.interpolate(values.data(),
                             state.energy.data() + static_cast<std::size_t>(batch) * values.size());
  }
}

// Bernstein functions add up to 1, so equal coefficients are a constant.
void add_material_energy(const Discretization &d, State &state) {
  const std::size_t size = tensor_size(d.energies());
  for (std::size_t n = 0; n < state.energy.size(); ++n) {
    const std::size_t zone = n / size * lanes + n % lanes;
    if (zone < d.materials.size()) state.energy[n] = d.materials[zone].energy;
  }
}

// The velocity on the sides is only nearly zero, because cos and sin of multiples of pi are rounded.
void stop_on_sides(const Parameters &p, State &state) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t n = 0; n < state.position[axis].size(); ++n) {
      const double x = state.position[axis][n];
      const double width = p.widths()[axis];
      if (std::min(x, width - x) < 1e-9 * width) state.velocity[axis][n] = 0;
    }
}

} // namespace

Gas gas_of(const Parameters &p, const Discretization &d) {
  return {p.problem != 0, p.cfl, d.length, d.kinematic_order};
}

State initial_state(const Parameters &p, const Discretization &d) {
  State state(d);
  place_nodes(d, state);
  if (p.problem == 1) {
    add_blast(p, d, state);
    return state;
  }
  if (p.is_triple_point()) {
    add_material_energy(d, state);
    return state;
  }
  add_vortex_velocity(state);
  add_vortex_energy(d, state);
  stop_on_sides(p, state);
  return state;
}

} // namespace hydro
