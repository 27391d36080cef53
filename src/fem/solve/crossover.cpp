#include "fem/solve/crossover.hpp"

#include "fem/solve/s_step.hpp"

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

constexpr std::size_t plain_vectors = 6, pipelined_vectors = 11;

// Seconds per entry that is read or written, cycling through `count` vectors. The order defeats a cache that
// is too small for all.
double stream_seconds(MPI_Comm comm, std::size_t rows, std::size_t count) {
  std::vector<std::vector<double>> vectors(count, std::vector<double>(rows, 1.0));
  const double seconds = median_seconds(comm, [&] {
    for (std::size_t v = 0; v < count; ++v) {
      double *__restrict y = vectors[v].data();
      const double *__restrict x = vectors[(v + count / 2) % count].data();
      for (std::size_t i = 0; i < rows; ++i) y[i] += 1e-3 * x[i];
    }
  });
  return seconds / (3 * static_cast<double>(count * std::max<std::size_t>(rows, 1)));
}

// Reads and writes of vectors an iteration.
double preconditioner_streams(bool jacobi) { return jacobi ? 3 : 2; } // z = D^-1 r, or a copy
double plain_streams(bool jacobi) {
  // p.w, x += a p, r -= a w, |r|, z.r, p = z + b p
  return 2 + 3 + 3 + 1 + 2 + 3 + preconditioner_streams(jacobi);
}

// Without the preconditioner: r.u, w.u, |r|; z = n + b z and three like it; x += a p and three like it.
constexpr double pipelined_streams = 2 + 2 + 1 + 4 * 3 + 4 * 3;

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
  std::vector<double> x(matrix.rows, 1.0), y(matrix.rows);
  costs.matvec = median_seconds(matrix.comm, [&] { matrix.apply(x.data(), y.data(), phase_energy); });
  costs.stream = stream_seconds(matrix.comm, matrix.rows, plain_vectors);
  costs.wide = stream_seconds(matrix.comm, matrix.rows, pipelined_vectors);
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

namespace {

double plain_work(const Costs &costs, bool jacobi) {
  return costs.matvec + plain_streams(jacobi) * static_cast<double>(costs.rows) * costs.stream;
}

} // namespace

Prediction predicted_s_step(const Costs &costs, int steps, bool jacobi) {
  const double s = steps;
  const auto rows = static_cast<double>(costs.rows);
  const double plain = plain_work(costs, jacobi);
  const double blocked = costs.matvec + s_step_streams(s, jacobi) * rows * costs.stream +
                         s_step_products(s) * rows * costs.product;
  return {plain + plain_allreduces * costs.allreduce, blocked + costs.allreduce / s,
          std::max(0.0, (blocked - plain) / (plain_allreduces - 1 / s))};
}

Prediction predicted_pipelined(const Costs &costs, bool jacobi) {
  const auto rows = static_cast<double>(costs.rows);
  const double plain = plain_work(costs, jacobi);
  const double vectors = pipelined_streams * rows * costs.wide;
  const double behind = costs.matvec + preconditioner_streams(jacobi) * rows * costs.wide;
  // Two cases: the Allreduce is hidden, or, with expensive vector operations, it is no longer hidden.
  const double hidden = (vectors + behind - plain) / plain_allreduces;
  const double exposed = (vectors - plain) / (plain_allreduces - 1);
  return {plain + plain_allreduces * costs.allreduce, vectors + std::max(behind, costs.allreduce),
          std::max(0.0, hidden <= behind ? hidden : exposed)};
}

} // namespace haloscope::fem
