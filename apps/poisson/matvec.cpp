#include "hide/fem/operator/operator.hpp"
#include "solve.hpp"

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

} // namespace poisson
