#include "parameters.hpp"

#include "../common/process_grid.hpp"
#include "../common/require.hpp"

namespace hydro {

using apps::require;

apps::Options options(Parameters &p) {
  apps::Options o("hydro", "Solves gas dynamics on a mesh of high-order zones that moves with the gas.", "-");
  o.add("p", p.problem, "0|1|3", "problem: 0 Taylor-Green vortex, 1 Sedov blast, 3 triple point");
  o.add("dim", p.dimension, "3", "dimensions");
  o.add("nx", p.nx, "N", "zones in x before refinement");
  o.add("ny", p.ny, "N", "zones in y before refinement");
  o.add("nz", p.nz, "N", "zones in z before refinement");
  o.add("rs", p.serial_refinements, "N", "times that each zone is refined into eight");
  o.add("rp", p.parallel_refinements, "N", "as -rs; both add up");
  o.add("Sx", p.width_x, "W", "width in x");
  o.add("Sy", p.width_y, "W", "width in y");
  o.add("Sz", p.width_z, "W", "width in z");
  o.add("ok", p.kinematic_order, "K", "order of velocity and position");
  o.add("ot", p.thermodynamic_order, "K", "order of internal energy");
  o.add("oq", p.integration_order, "K", "order of the integration rule; -1: 3 times -ok, plus -ot, minus 1");
  o.add("s", p.method, "4|7", "Runge-Kutta method: 4 RK4, 7 RK2Avg, which conserves energy");
  o.add("tf", p.final_time, "T", "time at the end");
  o.add("cfl", p.cfl, "C", "time step in units of the largest stable one");
  o.add("E0", p.blast_energy, "E", "energy of the blast, of which the cube has an eighth");
  o.add("cgt", p.tolerance, "R", "tolerance of conjugate gradients, relative");
  o.add("cgm", p.iterations, "N", "iterations of conjugate gradients at most");
  o.add("ms", p.steps, "N", "time steps at most; -1: any number");
  o.add("vs", p.report_every, "N", "time steps from one norm of the energy to the next");
  o.add("pa", p.partial_assembly, "", "partial assembly; there is no other");
  o.add("procs", p.grid, "X,Y,Z", "grid of ranks");
  o.add("points", p.points, "FILE", "write place, velocity, density and pressure of each quadrature point");
  o.add("verbose", p.verbose, "", "print each step whose norm is taken");
  return o;
}

namespace {

void require_bounds(const Parameters &p) {
  constexpr int any = 1 << 20;
  apps::require_bounds({{"-p", p.problem, 0, 3},
                        {"-dim", p.dimension, 3, 3},
                        {"-nx", p.nx, 1, 1024},
                        {"-ny", p.ny, 1, 1024},
                        {"-nz", p.nz, 1, 1024},
                        {"-rs", p.serial_refinements, 0, 10},
                        {"-rp", p.parallel_refinements, 0, 10},
                        {"-ok", p.kinematic_order, 1, 8},
                        {"-ot", p.thermodynamic_order, 0, p.kinematic_order},
                        {"-oq", p.integration_order, -1, 40},
                        {"-cgm", p.iterations, 1, any},
                        {"-ms", p.steps, -1, any},
                        {"-vs", p.report_every, 1, any}});
}

void require_positive(const Parameters &p) {
  for (const auto &[name, value] :
       std::initializer_list<std::pair<const char *, double>>{{"-Sx", p.width_x},
                                                              {"-Sy", p.width_y},
                                                              {"-Sz", p.width_z},
                                                              {"-tf", p.final_time},
                                                              {"-cfl", p.cfl},
                                                              {"-E0", p.blast_energy},
                                                              {"-cgt", p.tolerance}})
    require(value > 0 && value < 1e300,
            std::string(name) + " must be positive, not " + apps::show_value(value));
}

// The box of Laghos's data/box01_hex.mesh.
void take_triple_point_mesh(Parameters &p) {
  const Parameters cube;
  require(p.nx == cube.nx && p.ny == cube.ny && p.nz == cube.nz && p.widths() == cube.widths(),
          "-p 3 has a mesh of its own: leave out -nx, -ny, -nz, -Sx, -Sy and -Sz");
  p.nx = 4;
  p.width_x = 7;
  p.width_y = p.width_z = 3;
}

} // namespace

void complete(Parameters &p, int ranks) {
  require_bounds(p);
  require(p.problem != 2, "-p 2: there are 0 (Taylor-Green vortex), 1 (Sedov blast) and 3 (triple point)");
  if (p.is_triple_point()) take_triple_point_mesh(p);
  require_positive(p);
  require(p.method == 4 || p.method == 7,
          "-s " + std::to_string(p.method) + ": there are 4 (RK4) and 7 (RK2Avg)");
  require(p.grid == "auto" || apps::read_value(p.grid, p.procs),
          "'" + p.grid + "' is not a value for -procs: expected X,Y,Z");
  if (p.grid == "auto") p.procs = apps::near_cube(ranks);
  apps::require_ranks(p.procs, ranks, "-procs");
  const Int3 zones = p.zones();
  // nodes of a rank are counted in ints
  for (std::size_t axis = 0; axis < 3; ++axis)
    require(zones[axis] <= 1024, "-rs and -rp make more than 1024 zones along an axis");
  for (std::size_t axis = 0; axis < 3; ++axis)
    require(p.procs[axis] <= zones[axis], "a grid of " + apps::show_value(p.procs) +
                                              " ranks is finer than the " + apps::show_value(zones) +
                                              " zones: refine with -rs, or use fewer ranks");
}

} // namespace hydro
