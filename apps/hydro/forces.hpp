// The force operator by partial assembly. It stores the stresses at quadrature points. From these, it
// computes zone by zone the forces on the nodes and the power for the gas.
#ifndef APPS_HYDRO_FORCES_HPP
#define APPS_HYDRO_FORCES_HPP

#include "gas.hpp"
#include "gas_state.hpp"

namespace hydro {

class Forces {
public:
  Forces(const Discretization &d, const Gas &gas);

  // Computes the stresses of a state. Returns the longest time step that its points allow, of this rank.
  double update(const State &state);

  // Minus F · 1: each rank's contributions to the forces on its nodes.
  void force(Components &force);
  // F^T · v: the power of the stresses in each function of energy.
  void power(const Components &velocity, Vector &power);

private:
  double *stress_of(int batch, std::size_t row);
  double update_batch(int batch);

  const Discretization &d_;
  Gas gas_;
  TensorProduct kinematic_, thermodynamic_;
  std::size_t points_; // of a batch
  Vector stress_;      // of a batch: 3 rows by 3 columns by points
  Vector values_, energies_;
  std::array<Vector, 3> slopes_; // of a batch: of x, y, z or of the velocity, by points
  std::array<Vector, 3> velocity_slopes_;
};

} // namespace hydro

#endif
