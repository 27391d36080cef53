#include "gas.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace hydro {

namespace {

// From 0 at -width to 1 at width, with slopes of 0 there.
double smooth_step(double x, double width) {
  const double y = std::clamp((x + width) / (2 * width), 0.0, 1.0);
  return (3 - 2 * y) * y * y;
}

// The coefficient of the symmetric velocity gradient in the stress: quadratic and linear in the most
// compressed direction, whose length scale follows the deformation from the start. The linear part is there
// under compression alone.
double viscosity(const Gas &gas, const GasPoint &point, const Matrix3 &strain_rate, double density,
                 double sound) {
  constexpr double quadratic = 2, linear = 0.5, width = 1e-12;
  const Eigenpair compression = least_eigenpair(strain_rate);
  Vector3 stretched{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      stretched[i] += point.jacobian[i][j] / point.initial_edges[j] * compression.vector[j];
  const double length_scale = gas.length * length(stretched);
  const double rate = compression.value;
  return quadratic * density * length_scale * length_scale * std::abs(rate) +
         linear * density * length_scale * sound * (1 - smooth_step(rate - 2 * width, width));
}

Matrix3 symmetric(const Matrix3 &a) {
  Matrix3 s{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) s[i][j] = 0.5 * (a[i][j] + a[j][i]);
  return s;
}

// The sound crosses the thinnest part of the zone, and viscosity diffuses across it.
double longest_step(const Gas &gas, const Matrix3 &jacobian, double density, double sound, double viscous) {
  constexpr double diffusion = 2.5;
  const double thickness = least_singular_value(jacobian) / gas.kinematic_order;
  const double rate = sound / thickness + diffusion * viscous / (density * thickness * thickness);
  return rate > 0 ? gas.cfl / rate : std::numeric_limits<double>::infinity();
}

} // namespace

GasResult evaluate(const Gas &gas, const GasPoint &point) {
  const double volume = determinant(point.jacobian);
  const Matrix3 inverted = inverse(point.jacobian, volume);
  const double density = point.mass / (point.weight * volume);
  const double energy = std::max(0.0, point.energy);
  const double sound = std::sqrt(point.gamma * (point.gamma - 1) * energy);
  const double pressure = (point.gamma - 1) * density * energy;
  Matrix3 stress{{{-pressure, 0, 0}, {0, -pressure, 0}, {0, 0, -pressure}}};
  double viscous = 0;
  if (gas.viscous) {
    const Matrix3 strain_rate = symmetric(product(point.velocity_slope, inverted));
    viscous = viscosity(gas, point, strain_rate, density, sound);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) stress[i][j] += viscous * strain_rate[i][j];
  }
  GasResult result{{}, volume < 0 ? 0 : longest_step(gas, point.jacobian, density, sound, viscous)};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t g = 0; g < 3; ++g) {
      double along = 0;
      for (std::size_t j = 0; j < 3; ++j) along += stress[i][j] * inverted[g][j];
      result.stress[i][g] = along * point.weight * volume;
    }
  return result;
}

} // namespace hydro
