// The equations' right-hand sides: accelerations from forces, heating from their power; and how long a time
// step may be. Stresses are computed once for a state.
#ifndef APPS_HYDRO_HYDRODYNAMICS_HPP
#define APPS_HYDRO_HYDRODYNAMICS_HPP

#include "forces.hpp"
#include "mass_solvers.hpp"

namespace hydro {

// Seconds and counts of this rank's work.
struct Work {
  double velocity_solves = 0, energy_solves = 0, forces = 0, updates = 0;
  long velocity_iterations = 0, energy_iterations = 0, state_updates = 0, stages = 0;
};

struct Energies {
  double kinetic = 0, internal = 0;

  double total() const { return kinetic + internal; }
};

class Hydrodynamics {
public:
  Hydrodynamics(const Parameters &p, const Discretization &d);

  // M dv/dt = -F(state) · 1.
  void accelerate(const State &state, Components &acceleration);
  // M de/dt = F(state)^T · velocity, by the stresses of the state that was accelerated last.
  void heat(const State &state, const Components &velocity, Vector &heating);

  // Called after a change of the state: its stresses are computed again when they are needed next.
  void forget() { current_ = false; }

  // The longest time step that the states allow whose stresses were computed since `reset_time_step`, this
  // one among them; over all ranks.
  double time_step(const State &state);
  void reset_time_step();

  // Over all ranks.
  Energies energies(const State &state);

  const Work &work() const { return work_; }

private:
  void update(const State &state);

  const Discretization &d_;
  SharedNodes shared_;
  KinematicMass kinematic_;
  ThermodynamicMass thermodynamic_;
  Forces forces_;
  Components force_;
  Vector power_;
  double longest_step_;
  bool current_ = false;
  Work work_;
};

} // namespace hydro

#endif
