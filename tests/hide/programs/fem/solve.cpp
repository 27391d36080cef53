// The solvers on real meshes: `solve CASES`, a line per case, the same for any number of ranks.
#include "forests.hpp"

#include "fem/operator/assembly.hpp"
#include "fem/operator/load.hpp"
#include "fem/operator/model_problem.hpp"
#include "fem/solve/krylov.hpp"
#include "fem/solve/multigrid.hpp"
#include "fem/solve/s_step.hpp"
#include "fem/solve/stokes.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#undef MPI_Allreduce // PETSc counts in a macro

namespace {
int allreduces = 0;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation,
                             MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(from, to, count, type, operation, comm);
}

using namespace haloscope::fem;

namespace {

bool first() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

Forest mesh(int level, bool ball, double bend = 0) {
  const Domain domain{{1, 1, 1}, bend > 0 ? deformation(bend) : nullptr};
  Forest forest(MPI_COMM_WORLD, domain, level);
  const auto inside = [](Point centre, double) { return test::distance(centre, {0.3, 0.4, 0.6}) < 0.3; };
  if (ball) forest.refine(inside, 1);
  return forest;
}

// No eigenfunction, for which one iteration would be enough.
double load(const Point &p) { return 1 + p[0] * p[1] - (p[2] > 0.5 ? 2 : 0); }

struct Case {
  Problem problem;
  Grids grids;
  std::vector<double> b, x;
  Case(int level, int degree, bool ball, double jump, double bend = 0)
      : problem(jump_problem(jump)), grids(mesh(level, ball, bend), degree, problem.coefficient, {}),
        b(right_hand_side(grids.finest().forest, grids.finest().nodes, load)), x(b.size()) {}
};

constexpr std::array one_method{Method::cg};
constexpr std::array all_methods{Method::cg, Method::pipelined_cg, Method::gmres, Method::pipelined_gmres};

void multigrid(const std::string &name, int level, int degree, bool ball, double jump, double bend = 0,
               std::span<const Method> methods = one_method) {
  Case one(level, degree, ball, jump, bend);
  const auto cycle = one.grids.multigrid();
  if (first()) std::printf("%s %zu", name.c_str(), one.grids.hierarchy().levels().size());
  for (const Method method : methods) {
    const Outcome outcome = krylov(cycle->matrix(), cycle->pc(), one.b, one.x, {}, method);
    if (first()) std::printf(" %d %g", outcome.iterations, outcome.residual);
  }
  if (first()) std::printf("\n");
}

void iterations() {
  multigrid("uniform-3", 3, 1, false, 1);
  multigrid("uniform-4", 4, 1, false, 1);
  multigrid("uniform-5", 5, 1, false, 1);
  multigrid("jump-3", 3, 1, false, 1e6);
  multigrid("jump-4", 4, 1, false, 1e6);
  multigrid("ball-3", 3, 1, true, 1);
  multigrid("ball-4", 4, 1, true, 1e3);
  multigrid("bent-4", 4, 1, false, 1, 0.05);
  multigrid("quadratic-3", 3, 2, false, 1);
  multigrid("quadratic-ball-3", 3, 2, true, 1);
  multigrid("quartic-3", 3, 4, false, 1);
}

void degrees(int first, int last) {
  for (int degree = first; degree <= last; ++degree) {
    const auto named = [&](const char *name) { return "degree-" + std::to_string(degree) + "-" + name; };
    multigrid(named("uniform"), 2, degree, false, 1, 0, all_methods);
    multigrid(named("jump"), 2, degree, false, 1e6, 0, all_methods);
    multigrid(named("ball"), 2, degree, true, 1e6, 0, all_methods);
    multigrid(named("bent"), 2, degree, false, 1, 0.05, all_methods);
  }
}

// Compared with PETSc's direct solver of the assembled matrix: `METHOD difference iterations matvecs
// allreduces`, and for s-step its own counts.
void agreement() {
  Case one(3, 1, true, 1e3);
  const Level &level = one.grids.finest();
  const OwnedMat matrix =
      assembled(MPI_COMM_WORLD, one.b.size(), assemble(level.forest, level.nodes, one.problem.coefficient));
  const std::vector<double> exact = [&] {
    std::vector<double> x(one.b.size());
    PC direct = nullptr;
    check(PCCreate(MPI_COMM_WORLD, &direct), "direct");
    check(PCSetType(direct, PCCHOLESKY), "direct");
    check(PCFactorSetMatSolverType(direct, MATSOLVERMUMPS), "direct");
    check(PCSetOperators(direct, matrix.get(), matrix.get()), "direct");
    const Outcome outcome = krylov(matrix.get(), direct, one.b, x, {.tolerance = 1e-13});
    check(PCDestroy(&direct), "direct");
    require_convergence(outcome, "direct");
    return x;
  }();
  const SolveSettings settings{.tolerance = 1e-10, .jacobi = true};
  const auto report = [&](const char *name, const Outcome &outcome, int counted, const StepCounts &counts) {
    double worst[2]{}; // NOLINT: of the difference and of the solution
    for (std::size_t i = 0; i < exact.size(); ++i) {
      worst[0] = std::max(worst[0], std::abs(one.x[i] - exact[i]));
      worst[1] = std::max(worst[1], std::abs(exact[i]));
    }
    PMPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (first())
      std::printf("%s %g %d %d %d %lld %lld %lld\n", name, worst[0] / worst[1], outcome.iterations, counted,
                  counts.blocks, static_cast<long long>(counts.matvecs),
                  static_cast<long long>(counts.allreduces), static_cast<long long>(counts.messages));
  };
  const Shell shell(one.grids.linear(0), phase_energy);
  const auto with = [&](const char *name, Mat mat, PC pc, Method method) {
    allreduces = 0;
    const Outcome outcome = krylov(mat, pc, one.b, one.x, settings, method);
    report(name, outcome, allreduces, {});
  };
  with("cg", shell.mat(), nullptr, Method::cg);
  with("pipelined", shell.mat(), nullptr, Method::pipelined_cg);
  const auto cycle = one.grids.multigrid();
  with("gmg", cycle->matrix(), cycle->pc(), Method::cg);
  with("pipelined-gmg", cycle->matrix(), cycle->pc(), Method::pipelined_cg);
  report("gamg", conjugate_gradients_gamg(matrix.get(), one.b, one.x, settings), 0, {});
  for (const int steps : {1, 2, 4, 8}) {
    const Linear linear = one.grids.linear(0);
    const Interval interval = spectrum(linear, inverse_diagonal(linear), 10, phase_energy);
    allreduces = -1; // the check of the diagonal
    const StepOutcome outcome = s_step(linear, one.b, one.x, steps, settings, interval);
    report(("s-step-" + std::to_string(steps)).c_str(), outcome, allreduces, outcome.counts);
  }
}

void stokes(const char *name, int level, double jump, bool ball = false) {
  Case one(level, 1, ball, jump);
  Stokes system(one.grids, one.problem.coefficient, {});
  const auto cycle = one.grids.multigrid();
  const auto push = [](const Point &p) { return (p[0] - 0.4) * p[1]; };
  const std::vector<double> force = system.force({[](const Point &) { return 0.0; }, push, push});
  std::vector<double> velocity(force.size()), pressure(system.rows());
  const Outcome outcome = system.solve(cycle->pc(), force, velocity, pressure, {});
  require_convergence(outcome, name);
  if (first()) std::printf("%s %d %g\n", name, outcome.iterations, outcome.residual);
}

void blocks() {
  stokes("stokes-2", 2, 1);
  stokes("stokes-3", 3, 1);
  stokes("stokes-4", 4, 1);
  stokes("stokes-jump-3", 3, 100);
  stokes("stokes-ball-3", 3, 1, true);
}

// All ranks print the same error, and all continue afterwards.
template <typename Work> void failing(const char *name, Work &&work) {
  std::string message = "nothing";
  try {
    work();
  } catch (const Error &error) {
    message = error.what();
  }
  agree(MPI_COMM_WORLD, "");
  std::printf("%s: %s\n", name, message.c_str());
}

void errors() {
  Case one(2, 1, false, 1);
  const Linear linear = one.grids.linear(0);
  const Shell shell(linear, phase_energy);
  const auto cg = [&](const SolveSettings &settings) {
    require_convergence(krylov(shell.mat(), nullptr, one.b, one.x, settings), "CG");
  };
  failing("limit", [&] { cg({.iterations = 2}); });
  failing("limit-s",
          [&] { require_convergence(s_step(linear, one.b, one.x, 2, {.iterations = 2}), "s-step"); });
  failing("steps", [&] { s_step(linear, one.b, one.x, 17, {}); });
  failing("degree", [&] { one.grids.multigrid(9); });
  Linear indefinite = linear;
  indefinite.apply = [&](const double *x, double *y, int phase) {
    linear.apply(x, y, phase);
    for (std::size_t i = 0; i < linear.rows; ++i) y[i] -= 0.6 * x[i];
  };
  indefinite.diagonal = [&](double *d) { std::fill_n(d, linear.rows, -1.0); };
  failing("indefinite", [&] {
    const Shell wrong(indefinite, 0);
    require_convergence(krylov(wrong.mat(), nullptr, one.b, one.x, {}), "CG");
  });
  failing("indefinite-s",
          [&] { require_convergence(s_step(indefinite, one.b, one.x, 4, {}, {0.1, 2}), "s-step"); });
  failing("diagonal", [&] { s_step(indefinite, one.b, one.x, 4, {.jacobi = true}); });
  if (first()) one.b[0] = std::nan("");
  failing("nan", [&] { cg({}); });
  failing("nan-s", [&] { require_convergence(s_step(linear, one.b, one.x, 4, {}, {0.1, 2}), "s-step"); });
}

} // namespace

int main(int count, char **words) {
  MPI_Init(&count, &words);
  int status = 0;
  try {
    const PetscSession session;
    for (int i = 1; i < count; ++i) {
      if (!std::strcmp(words[i], "iterations")) iterations();
      if (!std::strcmp(words[i], "degrees")) degrees(1, 4);
      if (!std::strcmp(words[i], "high-degrees")) degrees(5, 8);
      if (!std::strcmp(words[i], "agreement")) agreement();
      if (!std::strcmp(words[i], "blocks")) blocks();
      if (!std::strcmp(words[i], "errors")) errors();
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "solve: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
