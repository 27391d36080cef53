#include "hydrodynamics.hpp"

#include "initial.hpp"

#include <algorithm>
#include <haloscope/region.hpp>
#include <limits>

namespace hydro {

namespace {

class Timer {
public:
  explicit Timer(double &seconds) : seconds_(seconds), start_(MPI_Wtime()) {}
  ~Timer() { seconds_ += MPI_Wtime() - start_; }
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

private:
  double &seconds_;
  double start_;
};

} // namespace

Hydrodynamics::Hydrodynamics(const Parameters &p, const Discretization &d)
    : d_(d), shared_(d.partition), kinematic_(d, shared_, {p.tolerance, p.iterations}),
      thermodynamic_(d, {p.tolerance, p.iterations}), forces_(d, gas_of(p, d)), power_(d.energy_count()),
      longest_step_(std::numeric_limits<double>::infinity()) {
  for (Vector &component : force_) component.resize(d.partition.node_count());
}

void Hydrodynamics::update(const State &state) {
  if (current_) return;
  const Timer timer(work_.updates);
  longest_step_ = std::min(longest_step_, forces_.update(state));
  current_ = true;
  ++work_.state_updates;
}

void Hydrodynamics::accelerate(const State &state, Components &acceleration) {
  update(state);
  {
    const Timer timer(work_.forces);
    forces_.force(force_);
  }
  const Timer timer(work_.velocity_solves);
  for (std::size_t axis = 0; axis < 3; ++axis)
    work_.velocity_iterations += kinematic_.solve(axis, force_[axis], acceleration[axis]);
  ++work_.stages;
}

void Hydrodynamics::heat(const State &state, const Components &velocity, Vector &heating) {
  update(state);
  {
    const Timer timer(work_.forces);
    forces_.power(velocity, power_);
  }
  const Timer timer(work_.energy_solves);
  work_.energy_iterations += thermodynamic_.solve(power_, heating);
}

double Hydrodynamics::time_step(const State &state) {
  const haloscope::Region region{"time_step_estimate"};
  update(state);
  double longest = 0;
  MPI_Allreduce(&longest_step_, &longest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return longest;
}

void Hydrodynamics::reset_time_step() { longest_step_ = std::numeric_limits<double>::infinity(); }

Energies Hydrodynamics::energies(const State &state) {
  const std::size_t points = tensor_size(d_.points());
  TensorProduct kinematic(d_.kinematic_values), thermodynamic(d_.thermodynamic_values);
  Vector values(tensor_size(d_.kinematic_order + 1)), at_points(points);
  Energies local;
  for (int batch = 0; batch < d_.partition.batches(); ++batch) {
    const double *mass = d_.mass.data() + static_cast<std::size_t>(batch) * points;
    for (const Vector &component : state.velocity) {
      d_.partition.gather(batch, component.data(), values.data());
      kinematic.interpolate(values.data(), at_points.data());
      for (std::size_t q = 0; q < points; ++q) local.kinetic += 0.5 * mass[q] * at_points[q] * at_points[q];
    }
    const std::size_t at = static_cast<std::size_t>(batch) * tensor_size(d_.energies());
    thermodynamic.interpolate(state.energy.data() + at, at_points.data());
    for (std::size_t q = 0; q < points; ++q) local.internal += mass[q] * at_points[q];
  }
  return {sum(local.kinetic), sum(local.internal)};
}

} // namespace hydro
