#include "kernel.hpp"

#include "../common/simd.hpp"

namespace sweep {

namespace {

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline)) // a part of each vector width's version
#else
#define ALWAYS_INLINE inline
#endif

// Diamond differences: the flux on the opposite face.
template <int width> ALWAYS_INLINE void cross(const double *psi, double *face) {
  for (int d = 0; d < width; ++d) face[d] = 2 * psi[d] - face[d];
}

// `width` directions of one group in one zone; returns their part of the scalar flux. One loop for each
// array that is written: the compiler need not fear then that they overlap.
template <int width>
ALWAYS_INLINE double solve_directions(const Coefficients &c, int first, const double *inverse,
                                      double emission, double *x, double *y, double *z) {
  const double *sx = c.streaming[0] + first;
  const double *sy = c.streaming[1] + first;
  const double *sz = c.streaming[2] + first;
  const double *weight = c.weight + first;
  double psi[width], part[width];
  for (int d = 0; d < width; ++d)
    psi[d] = (emission + sx[d] * x[d] + sy[d] * y[d] + sz[d] * z[d]) * inverse[d];
  cross<width>(psi, x);
  cross<width>(psi, y);
  cross<width>(psi, z);
  for (int d = 0; d < width; ++d) part[d] = weight[d] * psi[d];
  for (int half = width / 2; half > 0; half /= 2) // a tree, which needs no reordering to be fast
    for (int d = 0; d < half; ++d) part[d] += part[d + half];
  return part[0];
}

ALWAYS_INLINE double solve_group(const Coefficients &c, const double *inverse, double emission, double *x,
                                 double *y, double *z) {
  double flux = 0;
  int d = 0;
  for (; d + 8 <= c.directions; d += 8)
    flux += solve_directions<8>(c, d, inverse + d, emission, x + d, y + d, z + d);
  for (; d + 2 <= c.directions; d += 2)
    flux += solve_directions<2>(c, d, inverse + d, emission, x + d, y + d, z + d);
  for (; d < c.directions; ++d) flux += solve_directions<1>(c, d, inverse + d, emission, x + d, y + d, z + d);
  return flux;
}

struct Range {
  int first, step;
};

ALWAYS_INLINE Range range(const Extent &e, std::size_t axis) {
  return e.forward[axis] ? Range{0, 1} : Range{e.zones[axis] - 1, -1};
}

} // namespace

APPS_FAST void sweep_zones(const Extent &extent, const Coefficients &c, const double *emission, double *flux,
                           std::array<double *, 3> planes) {
  const auto [nx, ny, nz] = extent.zones;
  const Range rx = range(extent, 0), ry = range(extent, 1), rz = range(extent, 2);
  const std::ptrdiff_t face = std::ptrdiff_t{c.directions} * c.groups;
  for (int kk = 0, k = rz.first; kk < nz; ++kk, k += rz.step)
    for (int jj = 0, j = ry.first; jj < ny; ++jj, j += ry.step) {
      double *x = planes[0] + (std::ptrdiff_t{k} * ny + j) * face;
      for (int ii = 0, i = rx.first; ii < nx; ++ii, i += rx.step) {
        double *y = planes[1] + (std::ptrdiff_t{k} * nx + i) * face;
        double *z = planes[2] + (std::ptrdiff_t{j} * nx + i) * face;
        const std::ptrdiff_t zone =
            (i * extent.stride[0] + j * extent.stride[1] + k * extent.stride[2]) * c.groups;
        for (int g = 0; g < c.groups; ++g) {
          const std::ptrdiff_t at = std::ptrdiff_t{g} * c.directions;
          flux[zone + g] += solve_group(c, c.inverse + at, emission[zone + g], x + at, y + at, z + at);
        }
      }
    }
}

} // namespace sweep
