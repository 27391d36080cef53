// The state that the equations advance in time: positions and velocities of nodes, and internal energy.
#ifndef APPS_HYDRO_GAS_STATE_HPP
#define APPS_HYDRO_GAS_STATE_HPP

#include "conjugate_gradients.hpp"
#include "discretization.hpp"

namespace hydro {

using Components = std::array<Vector, 3>;

struct State {
  Components position, velocity; // at nodes
  Vector energy;                 // Bernstein coefficients, per mass

  // All zero.
  explicit State(const Discretization &d) : energy(d.energy_count()) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      position[axis].resize(d.partition.node_count());
      velocity[axis].resize(d.partition.node_count());
    }
  }

  // this += factor · rate.
  void add(double factor, const State &rate) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      add_scaled(factor, rate.position[axis], position[axis]);
      add_scaled(factor, rate.velocity[axis], velocity[axis]);
    }
    add_scaled(factor, rate.energy, energy);
  }
};

} // namespace hydro

#endif
