// From the start to the end in time: Runge-Kutta methods, and time steps that adapt to what the gas does.
#ifndef APPS_HYDRO_TIME_INTEGRATION_HPP
#define APPS_HYDRO_TIME_INTEGRATION_HPP

#include "hydrodynamics.hpp"

#include <functional>

namespace hydro {

struct Progress {
  int steps = 0, repeated = 0;
  double time = 0, time_step = 0; // the next one
};

// Called after a step that is a multiple of the number asked for, and after the last one, with the norm of
// the coefficients of energy.
using Observer = std::function<void(const Progress &, double)>;

class TimeIntegration {
public:
  TimeIntegration(const Parameters &p, const Discretization &d, Hydrodynamics &equations);

  // Advances the state to the final time, or by the number of steps asked for. Throws UsageError, on all
  // ranks, if the time step vanishes.
  Progress run(State &state, const Observer &observe);

private:
  void advance(State &state, double step);
  void advance_averaged(State &state, double step);
  void advance_classically(State &state, double step);
  bool attempt(State &state, Progress &progress);

  const Parameters &p_;
  Hydrodynamics &equations_;
  State start_, rate_, stage_;
};

} // namespace hydro

#endif
