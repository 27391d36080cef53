// Lagrangian gas dynamics with high-order finite elements: the scheme and the communication pattern of the
// Laghos mini-application, in a program that is small enough to read.
#include "../common/program.hpp"
#include "initial.hpp"
#include "results.hpp"
#include "time_integration.hpp"

#include <cmath>
#include <haloscope/region.hpp>

namespace {

using namespace hydro;

void print_problem(const Parameters &p, const Discretization &d, int ranks) {
  std::printf("ranks        %d as %s\n", ranks, apps::show_value(p.procs).c_str());
  std::printf("zones        %s of orders %d and %d, %d points each\n", apps::show_value(p.zones()).c_str(),
              p.kinematic_order, p.thermodynamic_order, d.points() * d.points() * d.points());
  std::printf("unknowns     %ld of velocity, %ld of energy\n", 3 * d.all_node_count(), d.all_energy_count());
}

void print_step(const Progress &progress, double norm) {
  std::printf("step         %d time %.6f next %.9f norm %.10e\n", progress.steps, progress.time,
              progress.time_step, norm);
}

void run(Parameters &p, apps::World world) {
  complete(p, world.size);
  const haloscope::Region region{"main"};
  const Partition partition(p, world.rank);
  const Discretization d(p, partition);
  Hydrodynamics equations(p, d);
  State state = initial_state(p, d);
  if (world.rank == 0) print_problem(p, d, world.size);
  const Energies before = equations.energies(state);
  TimeIntegration integration(p, d, equations);
  const double start = MPI_Wtime();
  double last_norm = std::sqrt(dot_energies(state.energy, state.energy));
  const Progress progress = integration.run(state, [&](const Progress &now, double norm) {
    last_norm = norm;
    if (p.verbose && world.rank == 0) print_step(now, norm);
  });
  const double seconds = MPI_Wtime() - start;
  print_outcome(world, progress, last_norm, before, equations.energies(state));
  print_shock(p, d, world, state, progress.time);
  print_costs(d, world, equations.work(), seconds);
  if (!p.points.empty()) write_points(p, d, world, state);
}

} // namespace

int main(int argc, char **argv) {
  Parameters parameters;
  const apps::Options declared = options(parameters);
  return apps::run_program(argc, argv, "hydro", declared, [&](apps::World world) { run(parameters, world); });
}
