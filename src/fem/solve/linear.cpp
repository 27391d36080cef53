#include "fem/solve/linear.hpp"
#include "fem/mesh/communicator.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace haloscope::fem {

namespace {

// Eigenvalues of a symmetric tridiagonal matrix below x (Sturm's sequence).
int below(const std::vector<double> &diagonal, const std::vector<double> &off, double x) {
  int count = 0;
  double pivot = 1;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double coupling = i == 0 ? 0 : off[i - 1] * off[i - 1];
    pivot = diagonal[i] - x - coupling / pivot;
    if (pivot == 0) pivot = 1e-300;
    count += pivot < 0;
  }
  return count;
}

// The eigenvalue with `index` eigenvalues below it.
double eigenvalue(const std::vector<double> &diagonal, const std::vector<double> &off, int index,
                  double bound) {
  double low = -bound, high = bound;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (below(diagonal, off, middle) > index ? high : low) = middle;
  }
  return high;
}

double noise(std::uint64_t x) { // splitmix64, in [-1, 1)
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>(x ^ (x >> 31)) * 0x1p-63 - 1;
}

std::vector<double> random_vector(const Linear &matrix) {
  auto rows = static_cast<std::int64_t>(matrix.rows);
  std::int64_t first = 0;
  MPI_Exscan(&rows, &first, 1, MPI_INT64_T, MPI_SUM, matrix.comm);
  int rank = 0;
  MPI_Comm_rank(matrix.comm, &rank);
  if (rank == 0) first = 0;
  std::vector<double> values(matrix.rows);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = noise(static_cast<std::uint64_t>(first) + i);
  return values;
}

} // namespace

std::vector<double> inverse_diagonal(const Linear &matrix) {
  std::vector<double> values(matrix.rows);
  matrix.diagonal(values.data());
  int bad = 0;
  for (double &value : values) {
    bad |= !(value > 0) || !std::isfinite(value);
    value = 1 / value;
  }
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_LOR, matrix.comm);
  if (bad)
    throw Error("the matrix' diagonal is not positive everywhere: look at the coefficient and the mesh");
  return values;
}

Interval spectrum(const Linear &matrix, std::span<const double> scale, int steps, int phase) {
  std::vector<double> r = random_vector(matrix), p(matrix.rows), w(matrix.rows);
  std::vector<double> diagonal, off;
  double rz = 0, last_alpha = 1, beta = 0;
  for (int step = 0; step <= steps; ++step) {
    double next = 0;
    for (std::size_t i = 0; i < r.size(); ++i) next += r[i] * r[i] * (scale.empty() ? 1 : scale[i]);
    MPI_Allreduce(MPI_IN_PLACE, &next, 1, MPI_DOUBLE, MPI_SUM, matrix.comm);
    if (step > 0) beta = next / rz;
    // The vector was in the span of the eigenvectors found, or the space is exhausted.
    if (step == steps || !(next > 0) || (step > 0 && beta < 1e-24)) break;
    rz = next;
    for (std::size_t i = 0; i < r.size(); ++i)
      p[i] = r[i] * (scale.empty() ? 1 : scale[i]) + (step > 0 ? beta * p[i] : 0);
    matrix.apply(p.data(), w.data(), phase);
    double curvature = 0;
    for (std::size_t i = 0; i < r.size(); ++i) curvature += p[i] * w[i];
    MPI_Allreduce(MPI_IN_PLACE, &curvature, 1, MPI_DOUBLE, MPI_SUM, matrix.comm);
    if (!(curvature > 0)) throw Error("the matrix is not positive definite");
    const double alpha = rz / curvature;
    diagonal.push_back(1 / alpha + (step > 0 ? beta / last_alpha : 0));
    if (step > 0) off.push_back(std::sqrt(beta) / last_alpha);
    last_alpha = alpha;
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * w[i];
  }
  if (diagonal.empty()) return {1, 1};
  const double bound = 3 * *std::ranges::max_element(diagonal);
  return {eigenvalue(diagonal, off, 0, bound),
          eigenvalue(diagonal, off, static_cast<int>(diagonal.size()) - 1, bound)};
}

} // namespace haloscope::fem
