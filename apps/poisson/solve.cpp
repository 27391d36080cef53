#include "solve.hpp"

#include "fem/operator/assembly.hpp"
#include "fem/operator/load.hpp"
#include "fem/operator/operator.hpp"
#include "fem/solve/crossover.hpp"
#include "fem/solve/krylov.hpp"
#include "fem/solve/multigrid.hpp"
#include "fem/solve/s_step.hpp"
#include "fem/solve/stokes.hpp"

#include <functional>

namespace poisson {

namespace {

using namespace haloscope::fem;

// With --policy gather the vectors have their ghosts: x is the same in all applications, and so are these.
std::vector<double> something(const Nodes &nodes) {
  std::vector<double> x(nodes.local());
  for (std::size_t node = 0; node < x.size(); node++)
    x[node] = static_cast<double>(nodes.global(static_cast<std::int32_t>(node)) % 1009) / 1009;
  return x;
}

} // namespace

Result apply_often(const Forest &forest, const Parameters &parameters, const Policy &policy, Record &record) {
  Result result;
  const double begin = MPI_Wtime();
  Nodes nodes(forest, parameters.degree);
  lay_out(forest, nodes);
  OperatorSettings settings;
  settings.overlap = policy.settings(1, "matvec");
  settings.history = &record.times;
  Operator matrix(forest, nodes, problem(parameters).coefficient, settings);
  const bool consistent = settings.overlap.consistent != 0;
  const std::vector<double> x = something(nodes);
  std::vector<double> y(nodes.local());
  MPI_Barrier(forest.communicator());
  result.setup_seconds = MPI_Wtime() - begin;
  for (int run = 0; run < parameters.runs; run++) {
    record.begin_run();
    for (int i = 0; i < parameters.iterations; i++)
      consistent ? matrix.apply_consistent(x.data(), y.data()) : matrix.apply(x.data(), y.data());
  }
  result.seconds = MPI_Wtime() - begin - result.setup_seconds;
  result.elements = forest.all_elements();
  result.unknowns = nodes.all();
  result.iterations = parameters.iterations;
  result.alpha = matrix.alpha();
  return result;
}

using namespace haloscope::fem;

namespace {

template <typename... Values> std::string line(const char *format, Values... values) {
  std::string text(160, '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, values...)));
  return text;
}

bool multigrid(const std::string &solver) { return solver.ends_with("gmg") || solver == "block"; }

// The problem on its levels, and its description. A run of a solver fills `u`.
struct Work {
  const Parameters &parameters;
  Problem known;
  Grids grids;
  SolveSettings settings;
  std::vector<double> b, u;
  Result result;

  Work(Forest forest, const Parameters &p, const OperatorSettings &operators)
      : parameters(p), known(problem(p)),
        grids(std::move(forest), p.degree, known.coefficient, operators,
              {.most_levels = multigrid(p.solver) ? HierarchySettings{}.most_levels : 1}),
        settings{p.tolerance, p.iterations, p.jacobi}, b(grids.finest().nodes.owned()), u(b.size()) {
    result.elements = grids.finest().forest.all_elements();
    result.unknowns = grids.finest().nodes.all();
  }
};

using Run = std::function<Outcome()>;

void say(Work &work, const Prediction &prediction, const Costs &costs) {
  auto &lines = work.result.lines;
  lines.push_back(line("predicted    %.3e s an iteration, plain %.3e s", prediction.other, prediction.plain));
  lines.push_back(line("crossover    %.3e s an Allreduce", prediction.crossover));
  lines.push_back(line("allreduce    %.3e s", costs.allreduce));
}

Run alone(Work &work, Method method) {
  const Linear matrix = work.grids.linear(0);
  if (method == Method::pipelined_cg) {
    const Costs costs = measured(matrix);
    say(work, predicted_pipelined(costs, work.parameters.jacobi), costs);
  }
  const auto shell = std::make_shared<Shell>(matrix, phase_energy);
  return
      [&work, shell, method] { return krylov(shell->mat(), nullptr, work.b, work.u, work.settings, method); };
}

Run with_multigrid(Work &work, Method method) {
  const double begin = MPI_Wtime();
  const std::shared_ptr<Multigrid> cycle = work.grids.multigrid(work.parameters.smoother_degree);
  work.result.lines.push_back(line("levels       %zu", work.grids.hierarchy().levels().size()));
  work.result.lines.push_back(line("multigrid    %.6f s", MPI_Wtime() - begin));
  return [&work, cycle, method] {
    return krylov(cycle->matrix(), cycle->pc(), work.b, work.u, work.settings, method);
  };
}

// The peer: an assembled matrix and algebraic multigrid, all PETSc's.
Run with_gamg(Work &work) {
  const Level &level = work.grids.finest();
  const double begin = MPI_Wtime();
  const auto matrix = std::make_shared<OwnedMat>(
      assembled(MPI_COMM_WORLD, work.b.size(), assemble(level.forest, level.nodes, work.known.coefficient)));
  work.result.lines.push_back(line("assembly     %.6f s", MPI_Wtime() - begin));
  return [&work, matrix] { return conjugate_gradients_gamg(matrix->get(), work.b, work.u, work.settings); };
}

void say_counts(Work &work, const StepOutcome &outcome, const Costs &costs) {
  auto &lines = work.result.lines;
  const double iterations = std::max(outcome.iterations, 1);
  const auto an_iteration = [&](std::int64_t count) { return static_cast<double>(count) / iterations; };
  lines.push_back(line("an iteration %.3f MatVecs, %.3f Allreduces, %.3f messages",
                       an_iteration(outcome.counts.matvecs), an_iteration(outcome.counts.allreduces),
                       an_iteration(outcome.counts.messages)));
  say(work, predicted_s_step(costs, work.parameters.steps, work.parameters.jacobi), costs);
}

Run in_steps(Work &work) {
  const Linear matrix = work.grids.linear(0);
  const Costs costs = measured(matrix);
  return [&work, matrix, costs] {
    const StepOutcome outcome = s_step(matrix, work.b, work.u, work.parameters.steps, work.settings);
    say_counts(work, outcome, costs);
    return outcome;
  };
}

// Stokes' equations, driven by the load along y.
Run block(Work &work, const OperatorSettings &operators) {
  const std::shared_ptr<Multigrid> cycle = work.grids.multigrid(work.parameters.smoother_degree);
  OperatorSettings own = operators;
  own.history = nullptr;
  const auto stokes = std::make_shared<Stokes>(work.grids, work.known.coefficient, own);
  return [&work, cycle, stokes] {
    const auto zero = [](const Point &) { return 0.0; };
    const std::vector<double> force = stokes->force({zero, work.known.load, zero});
    std::vector<double> velocity(force.size()), pressure(stokes->rows());
    return stokes->solve(cycle->pc(), force, velocity, pressure, work.settings);
  };
}

Run prepared(Work &work, const OperatorSettings &operators) {
  const std::string &solver = work.parameters.solver;
  if (solver == "gmg") return with_multigrid(work, Method::cg);
  if (solver == "pipelined-gmg") return with_multigrid(work, Method::pipelined_cg);
  if (solver == "gmres-gmg") return with_multigrid(work, Method::gmres);
  if (solver == "pipelined") return alone(work, Method::pipelined_cg);
  if (solver == "gamg") return with_gamg(work);
  if (solver == "s-step") return in_steps(work);
  if (solver == "block") return block(work, operators);
  return alone(work, Method::cg);
}

} // namespace

Result solve(Forest forest, const Parameters &parameters, const Policy &policy, Record &record) {
  const PetscSession petsc;
  const double begin = MPI_Wtime();
  OperatorSettings settings;
  settings.overlap = policy.settings(phase_count, "matvec");
  settings.history = &record.times;
  Work work(std::move(forest), parameters, settings);
  const Run run = prepared(work, settings);
  Result &result = work.result;
  result.setup_seconds = MPI_Wtime() - begin;
  work.b = right_hand_side(work.grids.finest().forest, work.grids.finest().nodes, work.known.load);
  result.lines.push_back(line("load         %.6f s", MPI_Wtime() - begin - result.setup_seconds));
  record.times.clear(); // estimates of eigenvalues and costs are no products of the solver's
  for (int i = 0; i < parameters.runs; ++i) {
    record.begin_run();
    const Outcome outcome = run();
    result.iterations = outcome.iterations;
    result.residual = outcome.residual;
    result.setup_seconds += i == 0 ? outcome.setup_seconds : 0;
    result.seconds += outcome.solve_seconds;
    result.lines.push_back("outcome      " + outcome.reason);
    // Reaching the limit is what runs of a given length ask for.
    if (!outcome.converged && outcome.iterations < parameters.iterations)
      require_convergence(outcome, "--solver " + parameters.solver);
  }
  if (parameters.solver != "block")
    result.error =
        error(work.grids.finest().forest, work.grids.finest().nodes, work.u.data(), work.known.solution);
  result.alpha = work.grids.operator_of(0).alpha(phase_energy);
  return result;
}

} // namespace poisson
