// The problem and its division, from the command line.
#ifndef APPS_SWEEP_PARAMETERS_HPP
#define APPS_SWEEP_PARAMETERS_HPP

#include "../common/options.hpp"

namespace sweep {

using apps::Int3;

struct Parameters {
  Int3 procs{2, 2, 2};
  Int3 zones{32, 64, 64};
  int groups = 32;
  std::string quad = "64";
  int gset = 16, dset = 8;
  Int3 zset{1, 1, 1};
  int niter = 10;
  double width = 1.0, sigt = 0.1, sigs = 0.05;
  std::string source = "corner", boundary = "vacuum";
  bool verbose = false;

  // From `quad`: angles of one octant.
  int polar = 0, azimuthal = 0;
  int directions_per_octant() const { return polar * azimuthal; }
  int sets_per_octant() const { return dset / 8; }
  int directions_per_set() const { return directions_per_octant() / sets_per_octant(); }
  int groups_per_set() const { return groups / gset; }
};

apps::Options options(Parameters &p);

// Derives the quadrature and checks that everything divides; throws UsageError.
void complete(Parameters &p, int ranks);

} // namespace sweep

#endif
