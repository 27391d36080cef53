// GMRES and conjugate gradients with hypre's algebraic multigrid: what the benchmark AMG2023 solves, by
// the same calls of hypre, so that the same messages are sent.
#include "../common/program.hpp"
#include "problem.hpp"
#include "solver.hpp"

#include <haloscope/region.hpp>

namespace {

using namespace amg;

class Hypre {
public:
  Hypre() { require(HYPRE_Init(), "HYPRE_Init"); }
  Hypre(const Hypre &) = delete;
  Hypre &operator=(const Hypre &) = delete;
  ~Hypre() { HYPRE_Finalize(); }
};

std::unique_ptr<Hypre> begin_hypre() {
  const haloscope::Region region{"Hypre init"};
  const double begin = MPI_Wtime();
  auto hypre = std::make_unique<Hypre>();
  slowest(MPI_Wtime() - begin);
  return hypre;
}

void print_problem(const Parameters &p, const Grid &grid, int ranks) {
  std::printf("ranks        %d as %s\npoints       %.0f, %s a rank\n", ranks,
              apps::show_value(p.procs).c_str(), grid.all(), apps::show_value(p.points).c_str());
  std::printf("problem      %d: %s\n", p.problem,
              p.is_27_point() ? "27 points, AMG-GMRES" : "7 points, AMG-CG");
}

// AMG2023's lines by its words, so that what reads its output reads this one.
void print_merits(const Parameters &p, const Outcome &o) {
  const char *of_solve = p.is_27_point() ? "nnz_AP" : "nnz_AP * iterations";
  const char *weight = p.is_27_point() ? "" : "3 * ";
  const double solves = p.is_27_point() ? 1 : 3;
  std::printf("Iterations = %d\nFinal Relative Residual Norm = %e\n", o.iterations, o.residual);
  std::printf("FOM_Setup: nnz_AP / Setup Phase Time: %e\n", o.entries / o.setup_seconds);
  std::printf("FOM_Solve: %s / Solve Phase Time: %e\n", of_solve, o.entries / o.solve_seconds);
  std::printf("Figure of Merit (FOM): nnz_AP / (Setup Phase Time + %sSolve Phase Time) %e\n", weight,
              o.entries / (o.setup_seconds + solves * o.solve_seconds));
}

void print_outcome(const Parameters &p, const Outcome &o) {
  std::printf("levels       %d\nnnz_AP       %.0f\nsetup        %.6f s\nsolve        %.6f s\n", o.levels,
              o.entries, o.setup_seconds, o.solve_seconds);
  std::printf("outcome      %s\n", o.converged ? "converged" : "not converged");
  print_merits(p, o);
}

double multiply(int times, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector in, HYPRE_ParVector out) {
  const haloscope::Region region{"Products"};
  const double begin = MPI_Wtime();
  for (int i = 0; i < times; ++i)
    require(HYPRE_ParCSRMatrixMatvec(1, matrix, in, 0, out), "a product with the matrix");
  return slowest(MPI_Wtime() - begin);
}

void write(const Matrix &matrix, const Vector &right, const Vector &unknowns) {
  require(HYPRE_IJMatrixPrint(matrix.get(), "IJ.out.A"), "writing IJ.out.A");
  require(HYPRE_IJVectorPrint(right.get(), "IJ.out.b"), "writing IJ.out.b");
  require(HYPRE_IJVectorPrint(unknowns.get(), "IJ.out.x0"), "writing IJ.out.x0");
}

void run(Parameters &p, apps::World world) {
  complete(p, world.size);
  const haloscope::Region region{"main"};
  const bool print = world.rank == 0;
  const auto hypre = begin_hypre();
  const Grid grid(p, world.rank);
  if (print) print_problem(p, grid, world.size);

  double begin = MPI_Wtime();
  const Matrix matrix = make_matrix(grid, p);
  slowest(MPI_Wtime() - begin);
  begin = MPI_Wtime();
  const Vector unknowns = make_vector(grid, 0), right = make_vector(grid, 1);
  slowest(MPI_Wtime() - begin);
  if (p.print) write(matrix, right, unknowns);

  if (p.products > 0) {
    const double seconds = multiply(p.products, object_of(matrix), object_of(right), object_of(unknowns));
    if (print) std::printf("products     %d\ntime         %.6f s\n", p.products, seconds);
    return;
  }
  const Outcome outcome = solve(p, object_of(matrix), object_of(right), object_of(unknowns));
  if (print) print_outcome(p, outcome);
  if (p.print) require(HYPRE_IJVectorPrint(unknowns.get(), "IJ.out.x"), "writing IJ.out.x");
}

} // namespace

int main(int argc, char **argv) {
  Parameters parameters;
  const apps::Options declared = options(parameters);
  return apps::run_program(argc, argv, "amg", declared, [&](apps::World world) { run(parameters, world); });
}
