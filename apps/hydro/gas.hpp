// The gas at one quadrature point: pressure, artificial viscosity, stress, and how long a time step may be.
#ifndef APPS_HYDRO_GAS_HPP
#define APPS_HYDRO_GAS_HPP

#include "matrix3.hpp"

namespace hydro {

struct Gas {
  bool viscous;
  double cfl;
  double length; // of a zone at the start, a kinematic order's share of it
  int kinematic_order;
};

struct GasPoint {
  Matrix3 jacobian;       // of the reference zone's map to space: rows are x, y, z
  Matrix3 velocity_slope; // along the axes of the reference zone, in the same way
  Vector3 initial_edges;  // of the reference zone's map to space at the start, which is diagonal
  double gamma;
  double energy; // per mass
  double mass;   // rho |J| w
  double weight; // w
};

struct GasResult {
  Matrix3 stress;   // |J| w stress times the inverse of the jacobian, transposed
  double time_step; // at most; 0 if the zone is turned inside out
};

GasResult evaluate(const Gas &gas, const GasPoint &point);

} // namespace hydro

#endif
