#include "solver.hpp"

#include "hierarchy.hpp"

#include <haloscope/region.hpp>
#include <memory>

namespace amg {

namespace {

constexpr int most_iterations = 100;
constexpr int aggressive_interpolation = 4; // multipass

// hypre's number for something, from the command line.
void take(HYPRE_Int error, const char *option, int value) {
  if (error == 0) return;
  throw apps::UsageError(std::string(option) + ' ' + std::to_string(value) + ": hypre knows no such number");
}

Preconditioner multigrid(const Parameters &p) {
  HYPRE_Solver made = nullptr;
  require(HYPRE_BoomerAMGCreate(&made), "BoomerAMG");
  Preconditioner owned(made);
  HYPRE_BoomerAMGSetTol(made, 0);
  HYPRE_BoomerAMGSetMaxIter(made, 1);
  HYPRE_BoomerAMGSetNumSweeps(made, 1);
  HYPRE_BoomerAMGSetPrintLevel(made, p.stats || p.all_stats ? 1 : 0);
  take(HYPRE_BoomerAMGSetInterpType(made, p.interpolation), "-interptype", p.interpolation);
  take(HYPRE_BoomerAMGSetPMaxElmts(made, p.most_elements), "-Pmx", p.most_elements);
  if (p.relaxation > -1) take(HYPRE_BoomerAMGSetRelaxType(made, p.relaxation), "-rlx", p.relaxation);
  HYPRE_BoomerAMGSetRAP2(made, 0);
  HYPRE_BoomerAMGSetKeepTranspose(made, 1);
  HYPRE_BoomerAMGSetMaxRowSum(made, p.is_27_point() ? p.most_row_sum : 1);
  want_entries(made);
  if (!p.is_27_point()) {
    HYPRE_BoomerAMGSetAggNumLevels(made, p.aggressive);
    HYPRE_BoomerAMGSetAggInterpType(made, aggressive_interpolation);
  }
  return owned;
}

// The system, in the types that hypre's solvers share.
struct System {
  HYPRE_Matrix matrix;
  HYPRE_Vector right, unknowns;
};

// hypre has the same functions for each of its solvers, by names of their own.
struct Method {
  const char *name;
  double tolerance;
  HYPRE_Int (*create)(MPI_Comm, HYPRE_Solver *);
  HYPRE_Int (*destroy)(HYPRE_Solver);
  HYPRE_Int (*set_most_iterations)(HYPRE_Solver, HYPRE_Int);
  HYPRE_Int (*set_tolerance)(HYPRE_Solver, HYPRE_Real);
  HYPRE_Int (*set_print_level)(HYPRE_Solver, HYPRE_Int);
  HYPRE_Int (*set_preconditioner)(HYPRE_Solver, HYPRE_PtrToSolverFcn, HYPRE_PtrToSolverFcn, HYPRE_Solver);
  HYPRE_Int (*setup)(HYPRE_Solver, HYPRE_Matrix, HYPRE_Vector, HYPRE_Vector);
  HYPRE_Int (*solve)(HYPRE_Solver, HYPRE_Matrix, HYPRE_Vector, HYPRE_Vector);
  HYPRE_Int (*iterations)(HYPRE_Solver, HYPRE_Int *);
  HYPRE_Int (*residual)(HYPRE_Solver, HYPRE_Real *);
};

constexpr Method gmres{"GMRES",
                       1e-12,
                       HYPRE_ParCSRGMRESCreate,
                       HYPRE_ParCSRGMRESDestroy,
                       HYPRE_GMRESSetMaxIter,
                       HYPRE_GMRESSetTol,
                       HYPRE_GMRESSetPrintLevel,
                       HYPRE_GMRESSetPrecond,
                       HYPRE_GMRESSetup,
                       HYPRE_GMRESSolve,
                       HYPRE_GMRESGetNumIterations,
                       HYPRE_GMRESGetFinalRelativeResidualNorm};

constexpr Method conjugate_gradients{"CG",
                                     1e-8,
                                     HYPRE_ParCSRPCGCreate,
                                     HYPRE_ParCSRPCGDestroy,
                                     HYPRE_PCGSetMaxIter,
                                     HYPRE_PCGSetTol,
                                     HYPRE_PCGSetPrintLevel,
                                     HYPRE_PCGSetPrecond,
                                     HYPRE_PCGSetup,
                                     HYPRE_PCGSolve,
                                     HYPRE_PCGGetNumIterations,
                                     HYPRE_PCGGetFinalRelativeResidualNorm};

// The solver and its preconditioner.
class Krylov {
public:
  explicit Krylov(const Parameters &p)
      : method_(p.is_27_point() ? gmres : conjugate_gradients), multigrid_(multigrid(p)) {
    require(method_.create(MPI_COMM_WORLD, &solver_), method_.name);
    method_.set_most_iterations(solver_, most_iterations);
    method_.set_tolerance(solver_, method_.tolerance);
    method_.set_print_level(solver_, p.all_stats ? 3 : p.stats ? 1 : 0);
    if (p.is_27_point()) {
      HYPRE_GMRESSetKDim(solver_, p.restart);
      HYPRE_GMRESSetLogging(solver_, 1);
    } else {
      HYPRE_PCGSetTwoNorm(solver_, 1);
      HYPRE_PCGSetRecomputeResidual(solver_, 1);
    }
    method_.set_preconditioner(solver_, reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSolve),
                               reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSetup),
                               multigrid_.get());
  }
  Krylov(const Krylov &) = delete;
  Krylov &operator=(const Krylov &) = delete;
  ~Krylov() { method_.destroy(solver_); }

  void setup(const System &s) {
    method_.setup(solver_, s.matrix, s.right, s.unknowns); // does not tell what the multigrid thinks of it
    require(HYPRE_GetError(), "setting up");
  }
  void solve(const System &s) {
    const HYPRE_Int error = method_.solve(solver_, s.matrix, s.right, s.unknowns);
    // A missing convergence is no error here: the residual shows it.
    if (HYPRE_CheckError(error, HYPRE_ERROR_CONV) == 0) require(error, "solving");
    HYPRE_ClearAllErrors();
  }
  void tell(Outcome &outcome) const {
    method_.iterations(solver_, &outcome.iterations);
    method_.residual(solver_, &outcome.residual);
    outcome.converged = outcome.residual <= method_.tolerance;
    outcome.levels = levels(multigrid_);
  }
  double entries() const { return amg::entries(multigrid_); }

private:
  const Method &method_;
  Preconditioner multigrid_;
  HYPRE_Solver solver_ = nullptr;
};

// In a region that begins when all ranks have come, and ends when all are done.
template <class Work> double phase(const char *name, Work &&work) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = 0, seconds = 0;
  {
    const haloscope::Region region{name};
    begin = MPI_Wtime();
    work();
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime() - begin;
  }
  return slowest(seconds);
}

} // namespace

double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

Outcome solve(const Parameters &p, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector right,
              HYPRE_ParVector unknowns) {
  const System system{reinterpret_cast<HYPRE_Matrix>(matrix), reinterpret_cast<HYPRE_Vector>(right),
                      reinterpret_cast<HYPRE_Vector>(unknowns)};
  const haloscope::Region region{"Problem"};
  Outcome outcome;
  std::unique_ptr<Krylov> solver;
  outcome.setup_seconds = phase("Setup", [&] {
    solver = std::make_unique<Krylov>(p);
    solver->setup(system);
  });
  outcome.entries = solver->entries();
  outcome.solve_seconds = phase("Solve", [&] { solver->solve(system); });
  solver->tell(outcome);
  return outcome;
}

} // namespace amg
