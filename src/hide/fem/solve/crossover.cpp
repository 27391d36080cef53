#include "hide/fem/solve/crossover.hpp"

#include "hide/fem/solve/s_step.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace haloscope::fem {

namespace {

constexpr int repetitions = 15;

template <typename Work> double median_seconds(MPI_Comm comm, Work &&work) {
  std::array<double, repetitions> seconds{};
  work(); // once for the caches
  for (double &time : seconds) {
    MPI_Barrier(comm);
    const double start = MPI_Wtime();
    work();
    time = MPI_Wtime() - start;
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), repetitions, MPI_DOUBLE, MPI_MAX, comm);
  std::ranges::sort(seconds);
  return seconds[repetitions / 2];
}

// Reads and writes of vectors an iteration.
double plain_streams(bool jacobi) {
  // p.w, x += a p, r -= a w, |r|, z.r, p = z + b p, and z = D^-1 r (a copy without Jacobi)
  return 2 + 3 + 3 + 1 + 2 + 3 + (jacobi ? 3 : 2);
}

double s_step_streams(double s, bool jacobi) {
  const double basis = 2 + (s - 1) * (jacobi ? 5 : 4);
  const double sums = 4 * s + 1;
  const double updates = 4 * s + 2 + 2 * s + 2;
  return (basis + sums + updates) / s;
}

// Multiplications and additions of all pairs of columns.
double s_step_products(double s) { return (s * (s + 1) / 2 + s * s + 2 * s + 1 + 2 * s * s + 2 * s) / s; }

} // namespace

Costs measured(const Linear &matrix) {
  Costs costs;
  costs.rows = matrix.rows;
  std::vector<double> x(matrix.rows, 1.0), y(matrix.rows), z(matrix.rows, 1.0);
  costs.matvec = median_seconds(matrix.comm, [&] { matrix.apply(x.data(), y.data(), phase_energy); });
  const auto rows = static_cast<double>(std::max<std::size_t>(matrix.rows, 1));
  costs.stream = median_seconds(matrix.comm,
                                [&] {
                                  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 0.5 * z[i];
                                }) /
                 (3 * rows);
  constexpr int columns = 4;
  constexpr std::size_t small = 512; // a tile
  StepVectors basis(small, columns);
  const std::vector<double> r(small);
  std::array<double, 64> sums{};
  constexpr double pairs = columns * (columns + 1) / 2.0 + columns * columns + 2 * columns + 1;
  costs.product = median_seconds(matrix.comm,
                                 [&] {
                                   for (int i = 0; i < 20; ++i) products(basis, r, columns, columns, sums);
                                 }) /
                  (20 * pairs * small);
  std::array<double, 3> few{};
  costs.allreduce = median_seconds(
      matrix.comm, [&] { MPI_Allreduce(MPI_IN_PLACE, few.data(), 3, MPI_DOUBLE, MPI_SUM, matrix.comm); });
  return costs;
}

Prediction predicted(const Costs &costs, int steps, bool jacobi) {
  const double s = steps;
  const auto rows = static_cast<double>(costs.rows);
  const double plain = costs.matvec + plain_streams(jacobi) * rows * costs.stream;
  const double blocked = costs.matvec + s_step_streams(s, jacobi) * rows * costs.stream +
                         s_step_products(s) * rows * costs.product;
  return {plain + plain_allreduces * costs.allreduce, blocked + costs.allreduce / s,
          std::max(0.0, (blocked - plain) / (plain_allreduces - 1 / s))};
}

} // namespace haloscope::fem
