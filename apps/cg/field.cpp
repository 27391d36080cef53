#include "field.hpp"

#include "../common/mpi.hpp"
#include "../common/simd.hpp"

#include <haloscope/region.hpp>

namespace cg {

namespace {

// Several partial sums: a compiler may not reorder a single one, and could not vectorise it.
APPS_FAST double dot_row(const double *a, const double *b, std::ptrdiff_t n) {
  constexpr std::ptrdiff_t lanes = 8;
  double partial[lanes] = {};
  std::ptrdiff_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::ptrdiff_t lane = 0; lane < lanes; ++lane) partial[lane] += a[i + lane] * b[i + lane];
  double sum = 0;
  for (const double p : partial) sum += p;
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

APPS_FAST void scale_then_add_all(double factor, const double *x, double *y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + factor * y[i];
}

APPS_FAST void add_scaled_all(double factor, const double *x, double *y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

} // namespace

double local_dot(const Field &a, const Field &b) {
  const auto [nx, ny, nz] = a.shape().n;
  double sum = 0;
  for (int k = 1; k <= nz; ++k)
    for (int j = 1; j <= ny; ++j) sum += dot_row(a.row(j, k) + 1, b.row(j, k) + 1, nx);
  return sum;
}

double dot(const Field &a, const Field &b) {
  const haloscope::CommRegion region{"dot_product"};
  const double local = local_dot(a, b);
  double global = 0;
  MPI_Allreduce(&local, &global, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return global;
}

// Ghosts are swept along: those of the boundary stay zero, the others are exchanged before any use.
void scale_then_add(double factor, const Field &x, Field &y) {
  scale_then_add_all(factor, x.values().data(), y.values().data(), y.values().size());
}

void add_scaled(double factor, const Field &x, Field &y) {
  add_scaled_all(factor, x.values().data(), y.values().data(), y.values().size());
}

} // namespace cg
