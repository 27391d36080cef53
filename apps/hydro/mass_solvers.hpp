// The two mass matrices, never stored: applied zone by zone through the quadrature points, and inverted by
// conjugate gradients.
#ifndef APPS_HYDRO_MASS_SOLVERS_HPP
#define APPS_HYDRO_MASS_SOLVERS_HPP

#include "conjugate_gradients.hpp"
#include "discretization.hpp"
#include "shared_nodes.hpp"

namespace hydro {

// Of one component of velocity, which is 0 on two sides of the cube; preconditioned by the diagonal.
class KinematicMass {
public:
  KinematicMass(const Discretization &d, SharedNodes &shared, Stop stop);

  // Solves for the acceleration along `axis`; `force` has each rank's contributions and is overwritten, the
  // acceleration is there for all nodes of the rank. Returns the number of iterations.
  int solve(std::size_t axis, Vector &force, Vector &acceleration);

private:
  void apply(std::size_t axis, const Vector &x, Vector &y);
  void clear_sides(std::size_t axis, Vector &field) const;
  Vector inverse_diagonal();

  const Discretization &d_;
  SharedNodes &shared_;
  TensorProduct tensors_;
  ConjugateGradients solver_;
  Vector inverse_diagonal_, nodes_, values_, points_;
};

// Of internal energy, each zone for itself; as in Laghos they are solved together, with sums over all ranks.
class ThermodynamicMass {
public:
  ThermodynamicMass(const Discretization &d, Stop stop);

  // Returns the number of iterations.
  int solve(const Vector &power, Vector &heating);

private:
  void apply(const Vector &x, Vector &y);

  const Discretization &d_;
  TensorProduct tensors_;
  ConjugateGradients solver_;
  Vector points_;
};

} // namespace hydro

#endif
