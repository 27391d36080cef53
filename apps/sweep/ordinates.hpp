// The tables that a sweep reads: coefficients of each direction set and group set.
#ifndef APPS_SWEEP_ORDINATES_HPP
#define APPS_SWEEP_ORDINATES_HPP

#include "kernel.hpp"
#include "medium.hpp"
#include "parameters.hpp"

#include <vector>

namespace sweep {

class Ordinates {
public:
  Ordinates(const Parameters &p, const Medium &medium);

  int octant(int direction_set) const { return direction_set / sets_per_octant_; }
  Coefficients coefficients(int direction_set, int group_set) const;

  // What a plane of angular fluxes across `axis` carries through its faces.
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
