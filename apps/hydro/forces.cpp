#include "forces.hpp"

#include "../common/simd.hpp"

#include <algorithm>
#include <haloscope/region.hpp>
#include <limits>

namespace hydro {

namespace {

APPS_FAST void add_product(const double *a, const double *b, double *c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] += a[i] * b[i];
}

} // namespace

Forces::Forces(const Discretization &d, const Gas &gas)
    : d_(d), gas_(gas), kinematic_(d.kinematic_values, d.kinematic_slopes),
      thermodynamic_(d.thermodynamic_values), points_(tensor_size(d.points())),
      stress_(static_cast<std::size_t>(d.partition.batches()) * 9 * points_),
      values_(tensor_size(d.kinematic_order + 1)), energies_(points_) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    slopes_[axis].resize(3 * points_);
    velocity_slopes_[axis].resize(3 * points_);
  }
}

double *Forces::stress_of(int batch, std::size_t row) {
  return stress_.data() + (static_cast<std::size_t>(batch) * 9 + 3 * row) * points_;
}

double Forces::update(const State &state) {
  const haloscope::Region region{"quadrature_update"};
  double time_step = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < d_.partition.batches(); ++batch) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      d_.partition.gather(batch, state.position[axis].data(), values_.data());
      kinematic_.gradient(values_.data(), slopes_[axis].data());
      d_.partition.gather(batch, state.velocity[axis].data(), values_.data());
      kinematic_.gradient(values_.data(), velocity_slopes_[axis].data());
    }
    const std::size_t at = static_cast<std::size_t>(batch) * tensor_size(d_.energies());
    thermodynamic_.interpolate(state.energy.data() + at, energies_.data());
    time_step = std::min(time_step, update_batch(batch));
  }
  return time_step;
}

double Forces::update_batch(int batch) {
  const double *mass = d_.mass.data() + static_cast<std::size_t>(batch) * points_;
  double time_step = std::numeric_limits<double>::infinity();
  std::array<Vector3, lanes> edges{};
  for (int lane = 0; lane < d_.partition.used(batch); ++lane)
    edges[static_cast<std::size_t>(lane)] = d_.zone_widths(d_.partition.zone_at(batch * lanes + lane));
  for (std::size_t q = 0; q < points_; ++q) {
    if (static_cast<int>(q % lanes) >= d_.partition.used(batch)) continue; // its stress stays 0
    const int n = d_.points(), place = static_cast<int>(q / lanes);
    const double gamma = d_.materials[static_cast<std::size_t>(batch) * lanes + q % lanes].gamma;
    GasPoint point{{},
                   {},
                   edges[q % lanes],
                   gamma,
                   energies_[q],
                   mass[q],
                   d_.weight(place % n, place / n % n, place / n / n)};
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t g = 0; g < 3; ++g) {
        point.jacobian[row][g] = slopes_[row][g * points_ + q];
        point.velocity_slope[row][g] = velocity_slopes_[row][g * points_ + q];
      }
    const GasResult result = evaluate(gas_, point);
    time_step = std::min(time_step, result.time_step);
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t g = 0; g < 3; ++g) stress_of(batch, row)[g * points_ + q] = result.stress[row][g];
  }
  return time_step;
}

void Forces::force(Components &force) {
  const haloscope::Region region{"force"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::ranges::fill(force[axis], 0.0);
    for (int batch = 0; batch < d_.partition.batches(); ++batch) {
      kinematic_.integrate_gradient(stress_of(batch, axis), values_.data());
      d_.partition.scatter_add(batch, values_.data(), force[axis].data());
    }
    for (double &value : force[axis]) value = -value;
  }
}

void Forces::power(const Components &velocity, Vector &power) {
  const haloscope::Region region{"power"};
  for (int batch = 0; batch < d_.partition.batches(); ++batch) {
    std::ranges::fill(energies_, 0.0);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      d_.partition.gather(batch, velocity[axis].data(), values_.data());
      kinematic_.gradient(values_.data(), slopes_[axis].data());
      for (std::size_t g = 0; g < 3; ++g)
        add_product(slopes_[axis].data() + g * points_, stress_of(batch, axis) + g * points_,
                    energies_.data(), points_);
    }
    const std::size_t at = static_cast<std::size_t>(batch) * tensor_size(d_.energies());
    thermodynamic_.integrate(energies_.data(), power.data() + at);
  }
}

} // namespace hydro
