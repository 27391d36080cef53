// The inner loops of a sweep: one set of zones, directions and groups.
#ifndef APPS_SWEEP_KERNEL_HPP
#define APPS_SWEEP_KERNEL_HPP

#include <array>
#include <cstddef>

namespace sweep {

// One direction set's coefficients for one group set.
struct Coefficients {
  int directions, groups;
  std::array<const double *, 3> streaming; // 2 |cosine| / width, a direction
  const double *weight;                    // a direction
  const double *inverse;                   // 1 / (total + sum of streaming), group × direction
};

// Zones in a rank's arrays: the first one's place and the distance to the next along each axis.
struct Extent {
  std::array<int, 3> zones;
  std::array<std::ptrdiff_t, 3> stride;
  std::array<bool, 3> forward;
};

// Solves every zone in the order in which the particles fly, by diamond differences: the flux in a zone is
// the mean of those on opposite faces. planes[axis] has the angular flux for each face across that axis,
// group and direction: the incoming flux, and on return the outgoing flux. No other angular flux is ever
// stored. `emission` and `flux` are zone × group, and the result is added to `flux`.
void sweep_zones(const Extent &extent, const Coefficients &c, const double *emission, double *flux,
                 std::array<double *, 3> planes);

} // namespace sweep

#endif
