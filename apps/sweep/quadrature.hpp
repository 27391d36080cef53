// Discrete ordinates: directions on the unit sphere with weights, the same set in all eight octants.
#ifndef APPS_SWEEP_QUADRATURE_HPP
#define APPS_SWEEP_QUADRATURE_HPP

#include <array>
#include <vector>

namespace sweep {

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

} // namespace sweep

#endif
