// The current gas at all quadrature points, for output.
#ifndef APPS_HYDRO_SAMPLES_HPP
#define APPS_HYDRO_SAMPLES_HPP

#include "gas_state.hpp"

namespace hydro {

struct Sample {
  Vector3 place, velocity;
  double density, pressure, mass;
};

// The samples of this rank.
std::vector<Sample> samples(const Discretization &d, const State &state);

} // namespace hydro

#endif
