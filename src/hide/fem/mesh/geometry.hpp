// The trilinear image of the unit cube.
#pragma once

#include "hide/fem/mesh/forest.hpp"

#include <span>

namespace haloscope::fem {

// Of 8 corners, x fastest, three coordinates each.
inline Point trilinear(std::span<const double, 24> corners, const Point &at) {
  Point image{};
  for (std::size_t corner = 0; corner < 8; corner++) {
    double weight = 1;
    for (std::size_t d = 0; d < 3; d++) weight *= (corner >> d & 1U) != 0 ? at[d] : 1 - at[d];
    for (std::size_t d = 0; d < 3; d++) image[d] += weight * corners[3 * corner + d];
  }
  return image;
}

// Its Jacobian's determinant: how much larger than the unit cube it is there; not positive: inverted.
inline double determinant(std::span<const double, 24> corners, const Point &at) {
  std::array<Point, 3> columns{}; // by x, y, z of the unit cube
  for (std::size_t corner = 0; corner < 8; corner++)
    for (std::size_t by = 0; by < 3; by++) {
      double weight = 1;
      for (std::size_t d = 0; d < 3; d++) {
        const bool upper = (corner >> d & 1U) != 0;
        weight *= d == by ? (upper ? 1 : -1) : (upper ? at[d] : 1 - at[d]);
      }
      for (std::size_t d = 0; d < 3; d++) columns[by][d] += weight * corners[3 * corner + d];
    }
  const auto &[a, b, c] = columns;
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
         a[2] * (b[0] * c[1] - b[1] * c[0]);
}

} // namespace haloscope::fem
