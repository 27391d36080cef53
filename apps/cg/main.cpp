// Conjugate gradients with a multigrid preconditioner on a 27-point operator: the communication pattern
// of the HPCG benchmark, in a solver that is small enough to read.
#include "../common/program.hpp"
#include "avoiding.hpp"
#include "field.hpp"
#include "problem.hpp"
#include "solver.hpp"
#include "stencil.hpp"

#include <haloscope/region.hpp>
#include <memory>

namespace {

using namespace cg;

struct Parameters {
  int nx = 104, ny = 104, nz = 104;
  std::string procs = "auto";
  int iterations = 50;
  double tolerance = 0;
  std::string smoother = "gauss-seidel", solver = "classic";
  int steps = 4;
  bool verbose = false, check = false;
};

apps::Options options(Parameters &p) {
  apps::Options o("cg", "Solves a 27-point problem on a grid whose size grows with the number of ranks.");
  o.add("nx", p.nx, "N", "points of a rank in x, a multiple of 8");
  o.add("ny", p.ny, "N", "points of a rank in y, a multiple of 8");
  o.add("nz", p.nz, "N", "points of a rank in z, a multiple of 8");
  o.add("procs", p.procs, "X,Y,Z", "grid of ranks; auto: as near to a cube as it can be");
  o.add("iterations", p.iterations, "N", "iterations at most");
  o.add("tolerance", p.tolerance, "R", "stop when the residual has shrunk to this; 0: never");
  o.add("smoother", p.smoother, "NAME", "gauss-seidel, jacobi, or none: no preconditioner");
  o.add("solver", p.solver, "NAME", "classic, pipelined: one hidden reduction per iteration, or s-step");
  o.add("steps", p.steps, "S", "iterations of the s-step solver between two reductions");
  o.add("verbose", p.verbose, "", "print residual and error of each iteration");
  o.add("check", p.check, "", "print products that show operator and preconditioner symmetric");
  return o;
}

apps::ProcessGrid process_grid(const Parameters &p, apps::World world) {
  apps::Int3 dims = apps::near_cube(world.size);
  if (p.procs != "auto" && !apps::read_value(p.procs, dims))
    throw apps::UsageError("'" + p.procs + "' is not a value for --procs: expected X,Y,Z");
  apps::require_ranks(dims, world.size);
  return {dims, world.rank};
}

void require_valid(const Parameters &p) {
  constexpr int multiple = 1 << (multigrid_levels - 1);
  for (const int n : {p.nx, p.ny, p.nz})
    if (n <= 0 || n % multiple != 0)
      throw apps::UsageError("--nx, --ny and --nz must be multiples of " + std::to_string(multiple) +
                             ", so that the grid can be halved three times; got " + std::to_string(n));
  if (p.smoother != "gauss-seidel" && p.smoother != "jacobi" && p.smoother != "none")
    throw apps::UsageError("--smoother is gauss-seidel, jacobi or none, not '" + p.smoother + "'");
  if (p.solver != "classic" && p.solver != "pipelined" && p.solver != "s-step")
    throw apps::UsageError("--solver is classic, pipelined or s-step, not '" + p.solver + "'");
  if (p.steps < 1 || p.steps > 16)
    throw apps::UsageError("--steps must be from 1 to 16, not " + std::to_string(p.steps));
  if (p.iterations < 0) throw apps::UsageError("--iterations must not be negative");
}

// For a symmetric M, a·M b and b·M a agree to rounding.
void print_check(Shape shape, const apps::ProcessGrid &grid, Halo &halo, Multigrid *preconditioner,
                 bool print) {
  Field a = scattered(shape, grid, 1), b = scattered(shape, grid, 2), image(shape);
  const auto products = [&](const char *name, auto &&map) {
    map(b, image);
    const double ab = dot(a, image);
    map(a, image);
    const double ba = dot(b, image);
    if (print) std::printf("%-12s %.17g %.17g\n", name, ab, ba);
  };
  products("operator", [&](Field &x, Field &y) {
    halo.exchange(x);
    apply_operator(x, y);
  });
  if (preconditioner != nullptr)
    products("multigrid", [&](Field &x, Field &y) { preconditioner->apply(x, y); });
}

void print_result(const Outcome &outcome, double error, double seconds, double points) {
  std::printf("iterations   %d\nresidual     %.6e\nerror        %.6e\ntime         %.6f s\n",
              outcome.iterations, outcome.residual, error, seconds);
  std::printf("rate         %.2f MDoF/s\n", points * outcome.iterations / seconds * 1e-6);
}

void run(const Parameters &p, apps::World world) {
  require_valid(p);
  const apps::ProcessGrid grid = process_grid(p, world);
  const haloscope::Region region{"main"};
  const Shape shape{{p.nx, p.ny, p.nz}};
  const bool print = world.rank == 0;
  const double points = double(p.nx) * p.ny * p.nz * world.size;

  Halo halo(shape, grid);
  std::unique_ptr<Multigrid> preconditioner;
  if (p.smoother != "none")
    preconditioner = std::make_unique<Multigrid>(
        shape, grid, p.smoother == "jacobi" ? Smoother::jacobi : Smoother::gauss_seidel);
  if (print)
    std::printf("ranks        %d as %s\npoints       %.0f\n", world.size, apps::show_value(grid.dims).c_str(),
                points);
  if (p.check) print_check(shape, grid, halo, preconditioner.get(), print);

  const Field b = row_sums(shape, grid);
  Field x(shape);
  const double start = MPI_Wtime();
  const Observer observe = [&](int iteration, double residual, const Field &iterate) {
    if (!p.verbose) return;
    const double distance = error(iterate);
    if (print) std::printf("iteration    %d %.17g %.17g\n", iteration, residual, distance);
  };
  const Stop stop{p.iterations, p.tolerance};
  Multigrid *multigrid = preconditioner.get();
  const Outcome outcome = p.solver == "pipelined" ? solve_pipelined(b, x, halo, multigrid, stop, observe)
                          : p.solver == "s-step" ? solve_s_step(b, x, halo, multigrid, p.steps, stop, observe)
                                                 : solve(b, x, halo, multigrid, stop, observe);
  const double seconds = MPI_Wtime() - start;
  const double distance = error(x);
  if (print) print_result(outcome, distance, seconds, points);
}

} // namespace

int main(int argc, char **argv) {
  Parameters parameters;
  const apps::Options declared = options(parameters);
  return apps::run_program(argc, argv, "cg", declared, [&](apps::World world) { run(parameters, world); });
}
