// Adaptive mesh refinement with many variables: the communication pattern of the miniAMR mini-application, in
// a program that is small enough to read.
#include "../common/program.hpp"
#include "results.hpp"
#include "simulation.hpp"

#include <cinttypes>
#include <haloscope/region.hpp>
#include <numeric>

namespace {

using namespace amr;

void print_problem(const Parameters &p, int ranks) {
  std::printf("ranks        %d as %s\n", ranks, apps::show_value(p.procs()).c_str());
  std::printf("cells        %s of a block, %d variables, %d at a time\n", apps::show_value(p.cells()).c_str(),
              p.num_vars, p.comm_vars);
}

void print_details(const Simulation &simulation) {
  for (std::size_t v = 0; v < simulation.sums().size(); ++v)
    std::printf("checksum     %zu %.17g\n", v, simulation.sums()[v]);
  for (const Leaf &leaf : simulation.mesh().tree().leaves())
    std::printf("block        %d %s %d\n", leaf.place.level, apps::show_value(leaf.place.at).c_str(),
                leaf.owner);
}

void print_results(const Simulation &simulation, const Results &r) {
  const std::vector<double> &sums = simulation.sums();
  std::printf("blocks       %d in the end, %d refinements, %d moved\n", simulation.mesh().tree().size(),
              simulation.refinements(), simulation.moved());
  std::printf("sum          %.17g\ndrift        %.3e\nsquares      %.17g\n",
              std::accumulate(sums.begin(), sums.end(), 0.0), simulation.drift(), r.squares);
  std::printf("range        %.17g to %.17g\nfingerprint  %016" PRIx64 "\n", r.low, r.high, r.fingerprint);
}

// Sums over ranks, or means of them.
void print_costs(const Simulation &simulation, apps::World world) {
  const Traffic &t = simulation.traffic();
  const Seconds &s = simulation.seconds();
  std::array<double, 6> sums{static_cast<double>(t.messages),
                             static_cast<double>(t.bytes),
                             s.communication,
                             s.stencil,
                             s.refinement,
                             s.balance};
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  if (world.rank != 0) return;
  std::printf("messages     %.0f of %.1f bytes on average\n", sums[0], sums[0] > 0 ? sums[1] / sums[0] : 0);
  for (std::size_t n = 2; n < sums.size(); ++n) sums[n] /= world.size;
  std::printf(
      "time         %.6f s, communication %.6f s, stencil %.6f s, refinement %.6f s, balance %.6f s\n",
      s.total, sums[2], sums[3], sums[4], sums[5]);
}

void run(Parameters &p, apps::World world) {
  complete(p, world.size);
  const haloscope::Region region{"main"};
  Simulation simulation(p, world);
  if (world.rank == 0) print_problem(p, world.size);
  simulation.run();
  const Results r = results(simulation.mesh());
  if (world.rank == 0 && p.verbose) print_details(simulation);
  if (world.rank == 0) print_results(simulation, r);
  print_costs(simulation, world);
}

} // namespace

int main(int argc, char **argv) {
  Parameters parameters;
  const apps::Options declared = options(parameters);
  return apps::run_program(argc, argv, "amr", declared, [&](apps::World world) { run(parameters, world); });
}
