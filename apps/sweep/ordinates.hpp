// The input of a sweep: the medium, the directions, and tables of the coefficients of both.
#ifndef APPS_SWEEP_ORDINATES_HPP
#define APPS_SWEEP_ORDINATES_HPP

#include "kernel.hpp"
#include "parameters.hpp"

#include <array>
#include <vector>

namespace sweep {

// A uniform medium in energy groups. Scattering is isotropic, mostly within a group, the rest into the
// next lower one.
struct Medium {
  std::vector<double> total;       // cross-section of each group
  std::vector<double> within;      // scattering that stays in the group
  std::vector<double> down;        // scattering into the group from the one above it
  std::vector<double> absorption;  // the rest
  std::vector<double> equilibrium; // flux in an infinite medium with a source of 1 in every group
};

// `total` and `scattering` are the first group's; they grow to nearly twice that in the last.
Medium make_medium(int groups, double total, double scattering);

// Discrete ordinates: directions on the unit sphere with weights, the same set in all eight octants.

constexpr int octants = 8;

struct Direction {
  std::array<double, 3> cosine; // magnitudes: the octant gives the signs
  double weight;
};

// The directions of one octant: `polar` Gauss-Legendre angles times `azimuthal` equally spaced ones.
// The weights of all eight octants add up to 4π.
std::vector<Direction> product_quadrature(int polar, int azimuthal);

// Whether the directions of an octant run towards larger indices along an axis.
constexpr bool forward(int octant, std::size_t axis) { return (octant >> axis & 1) == 0; }

// The tables that a sweep reads: coefficients of each direction set and group set.
class Ordinates {
public:
  Ordinates(const Parameters &p, const Medium &medium);

  int octant(int direction_set) const { return direction_set / sets_per_octant_; }
  Coefficients coefficients(int direction_set, int group_set) const;

  // The current through the faces of a plane of angular fluxes across `axis`.
  double current(const std::vector<double> &plane, std::size_t axis, const Coefficients &c) const;

private:
  double width_;
  int sets_per_octant_, directions_per_set_, groups_, groups_per_set_;
  // Octants share their directions' magnitudes: these hold the direction sets of one octant.
  std::array<std::vector<double>, 3> streaming_;
  std::vector<double> weight_, inverse_; // inverse_: direction set × group × direction of the set
};

} // namespace sweep

#endif
