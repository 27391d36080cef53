#include "fem/solve/krylov.hpp"

#include <array>
#include <cmath>

namespace haloscope::fem {

void require_convergence(const Outcome &outcome, const std::string &solver) {
  if (!outcome.converged)
    throw Error(solver + " did not converge: " + outcome.reason + " after " +
                std::to_string(outcome.iterations) + " iterations, relative residual " +
                std::to_string(outcome.residual));
}

std::string words(KSPConvergedReason reason) {
  switch (reason) {
  case KSP_DIVERGED_ITS:
    return "the limit of iterations is reached";
  case KSP_DIVERGED_NANORINF:
    return "a number is not finite";
  case KSP_DIVERGED_INDEFINITE_MAT:
    return "the matrix is not positive definite";
  case KSP_DIVERGED_INDEFINITE_PC:
    return "the preconditioner is not positive definite";
  case KSP_DIVERGED_DTOL:
    return "the residual grew";
  case KSP_DIVERGED_BREAKDOWN:
    return "the recurrence broke down";
  default:
    return reason > 0 ? "converged" : KSPConvergedReasons[reason];
  }
}

namespace {

constexpr int most_restarts = 4;

OwnedVec around(MPI_Comm comm, std::span<const double> values) {
  OwnedVec vec;
  check(VecCreateMPIWithArray(comm, 1, static_cast<PetscInt>(values.size()), PETSC_DETERMINE, values.data(),
                              vec.put()),
        "vector");
  return vec;
}

double norm(Vec vec) {
  double value = 0;
  check(VecNorm(vec, NORM_2, &value), "norm");
  return value;
}

double residual_norm(Mat matrix, Vec b, Vec x) {
  OwnedVec r;
  check(VecDuplicate(b, r.put()), "residual");
  check(MatMult(matrix, x, r.get()), "residual");
  check(VecAYPX(r.get(), -1, b), "residual");
  return norm(r.get());
}

// Until the true residual is small, too, or with tolerance 0 until all iterations are done. Multigrid's
// recurrence then becomes arbitrarily small while the true residual stays at the rounding errors, so it
// starts again from x.
Outcome run(KSP ksp, Mat matrix, std::span<const double> values, std::span<double> solution,
            const SolveSettings &settings) {
  MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(matrix));
  const OwnedVec b = around(comm, values), x = around(comm, solution);
  Outcome outcome;
  double start = MPI_Wtime();
  check(VecSet(x.get(), 0), "solution");
  const double scale = norm(b.get());
  check(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED), "solver");
  check(KSPSetOperators(ksp, matrix, matrix), "solver");
  check(KSPSetUp(ksp), "solver");
  outcome.setup_seconds = MPI_Wtime() - start;
  start = MPI_Wtime();
  if (scale == 0) return {.converged = true, .reason = "the right-hand side is zero"};
  if (!std::isfinite(scale)) return {.reason = "the right-hand side is not finite", .residual = scale};
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  const bool has_length = settings.tolerance == 0;
  for (int restart = 0; has_length || restart < most_restarts; ++restart) {
    check(KSPSetTolerances(ksp, 1e-50, settings.tolerance * scale, 1e10,
                           settings.iterations - outcome.iterations),
          "solver");
    check(KSPSetInitialGuessNonzero(ksp, restart > 0 ? PETSC_TRUE : PETSC_FALSE), "solver");
    check(KSPSolve(ksp, b.get(), x.get()), "solver");
    check(KSPGetConvergedReason(ksp, &reason), "solver");
    PetscInt done = 0;
    check(KSPGetIterationNumber(ksp, &done), "solver");
    outcome.iterations += static_cast<int>(done);
    outcome.solve_seconds = MPI_Wtime() - start; // the check of the residual is nobody's
    outcome.residual = residual_norm(matrix, b.get(), x.get()) / scale;
    outcome.converged = reason > 0 && outcome.residual <= 1.1 * settings.tolerance;
    if (outcome.converged || reason < 0) break;
    if (has_length && outcome.iterations >= settings.iterations) reason = KSP_DIVERGED_ITS;
    if (has_length && (done == 0 || reason < 0)) break;
  }
  outcome.reason =
      reason > 0 && !outcome.converged ? "the recurrence drifted from the true residual" : words(reason);
  if (!std::isfinite(outcome.residual)) outcome.reason = words(KSP_DIVERGED_NANORINF);
  return outcome;
}

OwnedKSP create_solver(Mat matrix, KSPType type) {
  OwnedKSP ksp;
  check(KSPCreate(PetscObjectComm(reinterpret_cast<PetscObject>(matrix)), ksp.put()), "solver");
  check(KSPSetType(ksp.get(), type), "solver");
  return ksp;
}

void set_pc(KSP ksp, PCType type) {
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc), "preconditioner");
  check(PCSetType(pc, type), "preconditioner");
}

} // namespace

Outcome krylov(Mat matrix, PC pc, std::span<const double> b, std::span<double> x,
               const SolveSettings &settings, Method method) {
  static constexpr std::array types{KSPCG, KSPPIPECG, KSPGMRES, KSPPGMRES}; // as in Method
  const OwnedKSP ksp = create_solver(matrix, types.at(static_cast<std::size_t>(method)));
  if (method == Method::gmres || method == Method::pipelined_gmres)
    check(KSPSetPCSide(ksp.get(), PC_RIGHT), "solver"); // its norm is the residual's
  if (pc)
    check(KSPSetPC(ksp.get(), pc), "preconditioner");
  else
    set_pc(ksp.get(), settings.jacobi ? PCJACOBI : PCNONE);
  return run(ksp.get(), matrix, b, x, settings);
}

Outcome conjugate_gradients_gamg(Mat matrix, std::span<const double> b, std::span<double> x,
                                 const SolveSettings &settings) {
  const OwnedKSP ksp = create_solver(matrix, KSPCG);
  set_pc(ksp.get(), PCGAMG);
  check(KSPSetOptionsPrefix(ksp.get(), "gamg_"), "solver");
  check(KSPSetFromOptions(ksp.get()), "solver");
  return run(ksp.get(), matrix, b, x, settings);
}

} // namespace haloscope::fem
