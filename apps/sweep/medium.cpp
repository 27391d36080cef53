#include "medium.hpp"

namespace sweep {

Medium make_medium(int groups, double total, double scattering) {
  constexpr double share_within = 0.75;
  Medium m;
  double lost_above = 0, flux_above = 0;
  for (int g = 0; g < groups; ++g) {
    const double scale = 1 + static_cast<double>(g) / groups;
    const bool last = g + 1 == groups;
    const double within = scattering * scale * (last ? 1 : share_within);
    m.total.push_back(total * scale);
    m.within.push_back(within);
    m.down.push_back(lost_above);
    m.absorption.push_back((total - scattering) * scale);
    m.equilibrium.push_back((1 + lost_above * flux_above) / (total * scale - within));
    lost_above = scattering * scale - within;
    flux_above = m.equilibrium.back();
  }
  return m;
}

} // namespace sweep
