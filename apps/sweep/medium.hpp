// A uniform medium in energy groups. Scattering is isotropic, mostly within a group, the rest into the
// next lower one.
#ifndef APPS_SWEEP_MEDIUM_HPP
#define APPS_SWEEP_MEDIUM_HPP

#include <vector>

namespace sweep {

struct Medium {
  std::vector<double> total;       // cross-section of each group
  std::vector<double> within;      // scattering that stays in the group
  std::vector<double> down;        // scattering into the group from the one above it
  std::vector<double> absorption;  // the rest
  std::vector<double> equilibrium; // flux in an infinite medium with a source of 1 in every group
};

// `total` and `scattering` are the first group's; they grow to nearly twice that in the last.
Medium make_medium(int groups, double total, double scattering);

} // namespace sweep

#endif
