#include "solve.hpp"

#include "operator/operator.hpp"
#include "solve/krylov.hpp"

namespace poisson {

using namespace haloscope::fem;

Result solve(Forest forest, const Parameters &parameters, const Policy &policy, Record &record) {
  if (parameters.solver != "cg") throw apps::UsageError("--solver " + parameters.solver + ": not yet");
  const PetscSession petsc;
  Result result;
  const double begin = MPI_Wtime();
  Nodes nodes(forest, parameters.degree);
  lay_out(forest, nodes);
  const Problem known = problem(parameters);
  OperatorSettings settings;
  settings.overlap = policy.settings(phase_count, "matvec");
  settings.history = &record.times;
  Operator matrix(forest, nodes, known.coefficient, settings);
  const Linear linear{forest.communicator(), nodes.owned(),
                      [&](const double *x, double *y, int phase) { matrix.apply(x, y, phase); },
                      [&](double *diagonal) { matrix.diagonal(diagonal); }, matrix.messages()};
  const Shell shell(linear, phase_energy);
  const std::vector<double> b = right_hand_side(forest, nodes, known.load);
  std::vector<double> u(nodes.owned());
  result.setup_seconds = MPI_Wtime() - begin;
  for (int run = 0; run < parameters.runs; run++) {
    record.begin_run();
    const auto outcome =
        conjugate_gradients(shell.mat(), nullptr, b, u, {parameters.tolerance, parameters.iterations, false});
    result.iterations = outcome.iterations;
    result.residual = outcome.residual;
    result.seconds += outcome.solve_seconds;
  }
  result.error = error(forest, nodes, u.data(), known.solution);
  result.elements = forest.all_elements();
  result.unknowns = nodes.all();
  result.alpha = matrix.alpha(phase_energy);
  return result;
}

} // namespace poisson
