#include "time_integration.hpp"

#include <cmath>
#include <haloscope/region.hpp>
#include <limits>

namespace hydro {

TimeIntegration::TimeIntegration(const Parameters &p, const Discretization &d, Hydrodynamics &equations)
    : p_(p), equations_(equations), start_(d), rate_(d), stage_(d) {}

// Two stages of the midpoint rule. Nodes move, and the gas is heated, with the mean of the velocities before
// and after a stage: what forces take from one energy they give to the other.
void TimeIntegration::advance_averaged(State &state, double step) {
  start_ = state;
  for (const double part : {0.5, 1.0}) {
    equations_.accelerate(state, rate_.velocity);
    rate_.position = start_.velocity;
    for (std::size_t axis = 0; axis < 3; ++axis)
      add_scaled(0.5 * step, rate_.velocity[axis], rate_.position[axis]);
    equations_.heat(state, rate_.position, rate_.energy);
    state = start_;
    state.add(part * step, rate_);
    equations_.forget();
  }
}

// The method of four stages; energy is conserved as well as the step is short.
void TimeIntegration::advance_classically(State &state, double step) {
  constexpr double before[] = {0, 0.5, 0.5, 1}, weights[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  start_ = state;
  for (std::size_t n = 0; n < 4; ++n) {
    stage_ = start_;
    if (n > 0) stage_.add(before[n] * step, rate_);
    equations_.accelerate(stage_, rate_.velocity);
    rate_.position = stage_.velocity;
    equations_.heat(stage_, rate_.position, rate_.energy);
    equations_.forget();
    state.add(weights[n] * step, rate_);
  }
}

void TimeIntegration::advance(State &state, double step) {
  if (p_.method == 7)
    advance_averaged(state, step);
  else
    advance_classically(state, step);
}

// Returns whether the step is kept. If the new state allows only a shorter step, the step is undone.
bool TimeIntegration::attempt(State &state, Progress &progress) {
  const State before = state;
  equations_.reset_time_step();
  advance(state, progress.time_step);
  const double longest = equations_.time_step(state);
  if (longest < progress.time_step) {
    state = before;
    equations_.forget();
    progress.time_step *= 0.85;
    ++progress.repeated;
    if (progress.time_step < std::numeric_limits<double>::epsilon())
      throw apps::UsageError("the time step vanishes at time " + apps::show_value(progress.time) +
                             ": zones are turned inside out; a smaller -cfl may help");
    return false;
  }
  progress.time += progress.time_step;
  if (longest > 1.25 * progress.time_step) progress.time_step *= 1.02;
  ++progress.steps;
  return true;
}

Progress TimeIntegration::run(State &state, const Observer &observe) {
  Progress progress;
  equations_.reset_time_step();
  progress.time_step = equations_.time_step(state);
  bool last = p_.steps == 0;
  while (!last) {
    const haloscope::Region region{"timestep"};
    last = progress.time + progress.time_step >= p_.final_time;
    if (last) progress.time_step = p_.final_time - progress.time;
    if (!attempt(state, progress)) {
      last = false;
      continue;
    }
    last = last || progress.steps == p_.steps;
    if (last || progress.steps % p_.report_every == 0) {
      observe(progress, std::sqrt(dot_energies(state.energy, state.energy)));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  return progress;
}

} // namespace hydro
