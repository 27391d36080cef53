// Discrete-ordinates particle transport, swept octant by octant through a grid of ranks: the communication
// pattern of the Kripke mini-application, in a solver that is small enough to read.
#include "../common/program.hpp"
#include "transport.hpp"

#include <haloscope/region.hpp>

namespace {

using namespace sweep;

void print_problem(const Parameters &p, int ranks) {
  std::printf("ranks        %d as %s\nzones        %s\n", ranks, apps::show_value(p.procs).c_str(),
              apps::show_value(p.zones).c_str());
  std::printf("sets         %d of %d directions, %d of %d groups, %s of zones a rank\n", p.dset,
              p.directions_per_set(), p.gset, p.groups_per_set(), apps::show_value(p.zset).c_str());
}

void print_balance(const Balance &b) {
  std::printf("source       %.15g\nabsorption   %.15g\nleakage      %.15g\n", b.source, b.absorption,
              b.leakage);
  std::printf("unscattered  %.6e\nlost         %.6e\n", b.unscattered, b.lost());
}

void print_moments(const Transport &transport, int groups, bool print) {
  for (int g = 0; g < groups; ++g) {
    const auto m = transport.moments(g);
    if (print) std::printf("group        %d %.15g %.15g %.15g %.15g\n", g, m[0], m[1], m[2], m[3]);
  }
}

// An unknown is the flux in one zone, direction and group.
void print_speed(const Parameters &p, double seconds) {
  const double unknowns = 8.0 * p.directions_per_octant() * p.groups * p.zones[0] * p.zones[1] * p.zones[2];
  std::printf("time         %.6f s\nrate         %.3f sweeps/s, %.2f million unknowns/s\n", seconds,
              p.niter / seconds, unknowns * p.niter / seconds * 1e-6);
}

void run(Parameters &p, apps::World world) {
  complete(p, world.size);
  const haloscope::Region region{"main"};
  const bool print = world.rank == 0;
  const Domain domain(p, world.rank);
  Transport transport(p, domain);
  if (print) print_problem(p, world.size);

  const double start = MPI_Wtime();
  const Balance balance = transport.solve();
  const double seconds = MPI_Wtime() - start;

  const auto range = transport.range();
  if (p.verbose) print_moments(transport, p.groups, print);
  if (!print) return;
  print_balance(balance);
  std::printf("flux         %.12g to %.12g of an infinite medium's\n", range[0], range[1]);
  print_speed(p, seconds);
}

} // namespace

int main(int argc, char **argv) {
  Parameters parameters;
  const apps::Options declared = options(parameters);
  return apps::run_program(argc, argv, "sweep", declared, [&](apps::World world) { run(parameters, world); });
}
