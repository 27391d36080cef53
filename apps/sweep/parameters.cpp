#include "parameters.hpp"

#include "../common/process_grid.hpp"
#include "../common/require.hpp"

namespace sweep {

using apps::require;

apps::Options options(Parameters &p) {
  apps::Options o("sweep", "Solves a particle transport problem by sweeps over discrete ordinates.");
  o.add("procs", p.procs, "X,Y,Z", "grid of ranks");
  o.add("zones", p.zones, "X,Y,Z", "zones of the whole grid");
  o.add("groups", p.groups, "N", "energy groups");
  o.add("quad", p.quad, "N|P:A", "directions: N, a multiple of 8, or P polar by A azimuthal angles");
  o.add("gset", p.gset, "N", "sets that the groups are divided into");
  o.add("dset", p.dset, "N", "sets that the directions are divided into, a multiple of 8");
  o.add("zset", p.zset, "X,Y,Z", "sets that a rank's zones are divided into");
  o.add("niter", p.niter, "N", "iterations");
  o.add("width", p.width, "H", "edge of a zone");
  o.add("sigt", p.sigt, "S", "total cross-section of the first group");
  o.add("sigs", p.sigs, "S", "scattering cross-section of the first group");
  o.add("source", p.source, "WHERE", "corner: in the lower half along each axis; all: everywhere");
  o.add("boundary", p.boundary, "KIND", "vacuum, or equilibrium: what an infinite medium sends in");
  o.add("verbose", p.verbose, "", "print mean and centre of each group's flux");
  return o;
}

namespace {

void require_positive(const char *name, int value) {
  require(value > 0, std::string(name) + " must be positive, not " + std::to_string(value));
}

// "P:A" as given, or a number of directions as two factors as near to each other as can be.
void complete_quadrature(Parameters &p) {
  const auto colon = p.quad.find(':');
  int first = 0, second = 0;
  if (colon == std::string::npos) {
    require(apps::read_value(p.quad, first) && first > 0 && first % 8 == 0,
            "--quad " + p.quad + " is neither a multiple of 8 nor P:A");
    for (int polar = 1; polar * polar <= first / 8; ++polar)
      if (first / 8 % polar == 0) p.polar = polar;
    p.azimuthal = first / 8 / p.polar;
    return;
  }
  require(apps::read_value(p.quad.substr(0, colon), first) &&
              apps::read_value(p.quad.substr(colon + 1), second) && first > 0 && second > 0 &&
              first % 2 == 0 && second % 4 == 0,
          "--quad " + p.quad + ": an even number of polar angles, a multiple of 4 of azimuthal ones");
  p.polar = first / 2;
  p.azimuthal = second / 4;
}

} // namespace

void complete(Parameters &p, int ranks) {
  apps::require_ranks(p.procs, ranks);
  require_positive("--groups", p.groups);
  require_positive("--gset", p.gset);
  require_positive("--dset", p.dset);
  require(p.niter >= 0, "--niter must not be negative");
  complete_quadrature(p);
  require(p.groups % p.gset == 0, "--gset " + std::to_string(p.gset) + " does not divide " +
                                      std::to_string(p.groups) + " groups evenly");
  require(p.dset % 8 == 0 && p.directions_per_octant() % p.sets_per_octant() == 0,
          "--dset " + std::to_string(p.dset) + " is not a multiple of 8 that divides " +
              std::to_string(8 * p.directions_per_octant()) + " directions evenly");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    require_positive("--zset", p.zset[axis]);
    require(static_cast<long>(p.procs[axis]) * p.zset[axis] <= p.zones[axis],
            "--zones " + apps::show_value(p.zones) + " are fewer than the ranks times zone sets");
  }
  require(p.width > 0 && p.sigt > 0 && p.sigs >= 0 && p.sigs < p.sigt,
          "--width and --sigt must be positive and --sigs from 0 to below --sigt");
  require(p.source == "corner" || p.source == "all", "--source is corner or all, not '" + p.source + "'");
  require(p.boundary == "vacuum" || p.boundary == "equilibrium",
          "--boundary is vacuum or equilibrium, not '" + p.boundary + "'");
}

} // namespace sweep
