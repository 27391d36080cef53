// −∇·(κ∇u) = f on the unit cube with matrix-free finite elements: the solvers whose communication the
// overlap library hides, in the setting of a published study of its methods.
#include "../common/program.hpp"
#include "fem/mesh/communicator.hpp"
#include "solve.hpp"

#include <haloscope/region.hpp>

namespace {

using namespace poisson;

struct Spread {
  double least, mean, most;
};

Spread over_ranks(double value, apps::World world) {
  Spread spread{};
  MPI_Allreduce(&value, &spread.least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&value, &spread.mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&value, &spread.most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  spread.mean /= world.size;
  return spread;
}

// The record has every product with the finest operator, so their number per second is from there.
void print(const Result &result, const Record &record, apps::World world) {
  const Spread alpha = over_ranks(result.alpha, world);
  const double seconds = over_ranks(result.seconds, world).most;
  if (world.rank != 0) return;
  std::printf("ranks        %d\nelements     %lld\nunknowns     %lld\n", world.size,
              static_cast<long long>(result.elements), static_cast<long long>(result.unknowns));
  std::printf("iterations   %d\n", result.iterations);
  if (result.error >= 0) std::printf("residual     %.6e\nerror        %.6e\n", result.residual, result.error);
  std::printf("setup        %.6f s\ntime         %.6f s\n", result.setup_seconds, seconds);
  const auto products = static_cast<double>(record.times.size());
  std::printf("products     %.0f\nrate         %.2f MDoF/s\n", products,
              products * static_cast<double>(result.unknowns) / seconds * 1e-6);
  std::printf("alpha        %.4f %.4f %.4f\n", alpha.least, alpha.mean, alpha.most);
  for (const std::string &line : result.lines) std::printf("%s\n", line.c_str());
}

void run(const Parameters &p, apps::World world) {
  require_valid(p);
  const Policy policy(p);
  const haloscope::Region region{"main"};
  Record record;
  record.times.reserve(static_cast<std::size_t>(p.iterations) * static_cast<std::size_t>(p.runs));
  try {
    const double begin = MPI_Wtime();
    auto forest = mesh(MPI_COMM_WORLD, p);
    const double meshed = MPI_Wtime() - begin;
    Result result = p.solver == "matvec" ? apply_often(forest, p, policy, record)
                                         : solve(std::move(forest), p, policy, record);
    result.setup_seconds += meshed;
    print(result, record, world);
  } catch (const haloscope::fem::Error &wrong) { // on all ranks
    throw apps::UsageError(wrong.what());
  }
  if (!p.csv.empty()) record.write(p.csv, MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv) {
  Parameters parameters;
  const apps::Options declared = options(parameters);
  return apps::run_program(argc, argv, "poisson", declared,
                           [&](apps::World world) { run(parameters, world); });
}
