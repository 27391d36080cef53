#include "stencil.hpp"

#include "../common/simd.hpp"

namespace cg {

namespace {

constexpr double diagonal = 26.0;
constexpr double inverse_diagonal = 1.0 / diagonal;
constexpr double jacobi_damping = 0.8; // any value below 1 keeps the preconditioner definite

// Where the rows around a row are.
struct Strides {
  std::ptrdiff_t row, plane;
};

Strides strides(const Shape &shape) { return {shape.row(), shape.plane()}; }

// A row of 27-point sums needs each column of nine points three times: it is summed once, into
// `sum`, of which ghosts are a part. Here without the row itself, whose values change as it is swept.
APPS_FAST void sum_rows_around(const double *x, Strides s, std::ptrdiff_t padded, double *sum) {
  const double *below = x - s.plane;
  const double *above = x + s.plane;
  for (std::ptrdiff_t i = 0; i < padded; ++i)
    sum[i] = ((below[i - s.row] + below[i]) + (below[i + s.row] + x[i - s.row])) +
             ((x[i + s.row] + above[i - s.row]) + (above[i] + above[i + s.row]));
}

// y = A x on one row.
APPS_FAST void apply_row(const double *x, Strides s, std::ptrdiff_t n, double *sum, double *y) {
  sum_rows_around(x, s, n + 2, sum);
  for (std::ptrdiff_t i = 1; i <= n; ++i)
    y[i] = (diagonal * x[i] - (x[i - 1] + x[i + 1])) - (sum[i - 1] + sum[i] + sum[i + 1]);
}

// The known part of a row before a sweep starts on it: x[i] = known[i] + x[i − step] / 26.
APPS_FAST void prepare_row(const double *b, const double *x, Strides s, std::ptrdiff_t n, int step,
                           double *sum, double *known) {
  sum_rows_around(x, s, n + 2, sum);
  for (std::ptrdiff_t i = 1; i <= n; ++i)
    known[i] = (b[i] + (sum[i - 1] + sum[i] + sum[i + 1]) + x[i + step]) * inverse_diagonal;
}

// Each point of a row needs the one before it: a chain of multiplications and additions, one point long. Four
// points at a time are solved first as if the one before were 0, and then share its part: the chain is a
// fourth as long. `known` and `x` are at the first point, `step` leads to the next.
APPS_FAST void sweep_row(const double *known, std::ptrdiff_t n, std::ptrdiff_t step, double *x) {
  constexpr double c = inverse_diagonal;
  double last = x[-step];
  for (; n >= 4; n -= 4, known += 4 * step, x += 4 * step) {
    const double first = known[0];
    const double second = known[step] + c * first;
    const double third = known[2 * step] + c * second;
    const double fourth = known[3 * step] + c * third;
    x[0] = first + c * last;
    x[step] = second + (c * c) * last;
    x[2 * step] = third + (c * c * c) * last;
    last = x[3 * step] = fourth + (c * c * c * c) * last;
  }
  for (; n > 0; --n, known += step, x += step) *x = last = *known + c * last;
}

APPS_FAST void damp_row(const double *b, const double *ax, std::ptrdiff_t n, double *x) {
  for (std::ptrdiff_t i = 1; i <= n; ++i) x[i] += jacobi_damping * inverse_diagonal * (b[i] - ax[i]);
}

std::vector<double> row_buffer(const Shape &shape) {
  return std::vector<double>(static_cast<std::size_t>(shape.row()));
}

} // namespace

void apply_operator(const Field &x, Field &y) {
  auto sum = row_buffer(x.shape());
  y.for_each_row([&](int j, int k, double *row) {
    apply_row(x.row(j, k), strides(x.shape()), x.shape().n[0], sum.data(), row);
  });
}

void restrict_residual(const Field &b, const Field &x, Field &coarse) {
  auto sum = row_buffer(x.shape());
  auto ax = row_buffer(x.shape());
  coarse.for_each_row([&](int j, int k, double *row) {
    const int fine_j = 2 * j - 1, fine_k = 2 * k - 1;
    apply_row(x.row(fine_j, fine_k), strides(x.shape()), x.shape().n[0], sum.data(), ax.data());
    const double *fine = b.row(fine_j, fine_k);
    for (int i = 1; i <= coarse.shape().n[0]; ++i)
      row[i] = fine[2 * i - 1] - ax[static_cast<std::size_t>(2 * i - 1)];
  });
}

void prolong_add(const Field &coarse, Field &x) {
  const Int3 n = coarse.shape().n;
  for (int k = 1; k <= n[2]; ++k)
    for (int j = 1; j <= n[1]; ++j) {
      double *fine = x.row(2 * j - 1, 2 * k - 1);
      const double *row = coarse.row(j, k);
      for (int i = 1; i <= n[0]; ++i) fine[2 * i - 1] += row[i];
    }
}

void symmetric_gauss_seidel(const Field &b, Field &x) {
  const Shape &shape = x.shape();
  const auto [nx, ny, nz] = shape.n;
  auto sum = row_buffer(shape);
  auto known = row_buffer(shape);
  for (int k = 1; k <= nz; ++k)
    for (int j = 1; j <= ny; ++j) {
      prepare_row(b.row(j, k), x.row(j, k), strides(shape), nx, +1, sum.data(), known.data());
      sweep_row(known.data() + 1, nx, +1, x.row(j, k) + 1);
    }
  for (int k = nz; k >= 1; --k)
    for (int j = ny; j >= 1; --j) {
      prepare_row(b.row(j, k), x.row(j, k), strides(shape), nx, -1, sum.data(), known.data());
      sweep_row(known.data() + nx, nx, -1, x.row(j, k) + nx);
    }
}

void damped_jacobi(const Field &b, Field &x, Field &scratch) {
  apply_operator(x, scratch);
  x.for_each_row(
      [&](int j, int k, double *row) { damp_row(b.row(j, k), scratch.row(j, k), x.shape().n[0], row); });
}

} // namespace cg
