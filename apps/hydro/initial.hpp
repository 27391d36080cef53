// The problems at the start: Sedov's blast in a corner of the cube, Taylor and Green's vortex, and the triple
// point.
#ifndef APPS_HYDRO_INITIAL_HPP
#define APPS_HYDRO_INITIAL_HPP

#include "gas.hpp"
#include "gas_state.hpp"

namespace hydro {

Gas gas_of(const Parameters &p, const Discretization &d);

State initial_state(const Parameters &p, const Discretization &d);

} // namespace hydro

#endif
