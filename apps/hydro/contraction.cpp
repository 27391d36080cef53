#include "contraction.hpp"

#include "../common/simd.hpp"

#include <algorithm>
#include <utility>

namespace hydro {

namespace {

// A row of lanes, wherever it lies: the compiler makes of it whatever registers the machine has.
using Registers [[gnu::vector_size(lanes * sizeof(double))]] = double;
// Its attributes are lost where the type is deduced.
using Lanes [[gnu::aligned(sizeof(double)), gnu::may_alias]] = Registers;

// `Rows` rows of `multiply`, in registers. Each value of `in` is loaded once for all of them.
template <int Rows>
[[gnu::always_inline]] inline void multiply_rows(const double *matrix, int columns, std::ptrdiff_t step,
                                                 const double *in, double *out, bool add) {
  for (std::ptrdiff_t c = 0; c < step; c += lanes) {
    Registers sum[Rows];
    for (int b = 0; b < Rows; ++b) {
      sum[b] = Registers{};
      if (add) sum[b] = *reinterpret_cast<const Lanes *>(out + b * step + c);
    }
    for (int i = 0; i < columns; ++i) {
      const Registers x = *reinterpret_cast<const Lanes *>(in + i * step + c);
      for (int b = 0; b < Rows; ++b) sum[b] += matrix[b * columns + i] * x;
    }
    for (int b = 0; b < Rows; ++b) *reinterpret_cast<Lanes *>(out + b * step + c) = sum[b];
  }
}

// out[o, r, c] (+)= sum over i of matrix[r, i] in[o, i, c]; the innermost axis is a multiple of `lanes`.
APPS_FAST void multiply(const double *matrix, int rows, int columns, int outer, int inner, const double *in,
                        double *out, bool add) {
  const std::ptrdiff_t step = inner;
  for (int o = 0; o < outer; ++o, in += columns * step, out += rows * step) {
    std::ptrdiff_t r = 0;
    for (; r + 4 <= rows; r += 4)
      multiply_rows<4>(matrix + r * columns, columns, step, in, out + r * step, add);
    for (; r + 2 <= rows; r += 2)
      multiply_rows<2>(matrix + r * columns, columns, step, in, out + r * step, add);
    if (r < rows) multiply_rows<1>(matrix + r * columns, columns, step, in, out + r * step, add);
  }
}

using Matrix = AxisMatrix;

// Products along one axis of a tensor. The other arguments are its sizes along the other axes.
void along_x(const Matrix &m, int ny, int nz, const double *in, double *out) {
  multiply(m.entries, m.rows, m.columns, ny * nz, lanes, in, out, false);
}

void along_y(const Matrix &m, int nx, int nz, const double *in, double *out, bool add = false) {
  multiply(m.entries, m.rows, m.columns, nz, nx * lanes, in, out, add);
}

void along_z(const Matrix &m, int nx, int ny, const double *in, double *out, bool add = false) {
  multiply(m.entries, m.rows, m.columns, 1, nx * ny * lanes, in, out, add);
}

Matrix forward(const Table &t) { return {t.entries.data(), t.rows, t.columns}; }
Matrix backward(const Table &t) { return {t.transposed.data(), t.columns, t.rows}; }

} // namespace

TensorProduct::TensorProduct(Table value, Table slope) : value_(std::move(value)), slope_(std::move(slope)) {
  const int largest = std::max(value_.rows, value_.columns);
  first_.resize(tensor_size(largest));
  second_.resize(tensor_size(largest));
}

void TensorProduct::along_all(const Matrix &m, const double *in, double *out, bool add) {
  along_x(m, m.columns, m.columns, in, first_.data());
  along_y(m, m.rows, m.columns, first_.data(), second_.data());
  along_z(m, m.rows, m.rows, second_.data(), out, add);
}

void TensorProduct::interpolate(const double *coefficients, double *values) {
  along_all(forward(value_), coefficients, values, false);
}

void TensorProduct::integrate(const double *values, double *coefficients, bool add) {
  along_all(backward(value_), values, coefficients, add);
}

// Of the nine products, two are the same.
void TensorProduct::gradient(const double *coefficients, double *derivatives) {
  const Matrix b = forward(value_), g = forward(slope_);
  const int n = b.columns, q = b.rows;
  const std::size_t size = tensor_size(q);
  along_x(g, n, n, coefficients, first_.data());
  along_y(b, q, n, first_.data(), second_.data());
  along_z(b, q, q, second_.data(), derivatives);
  along_x(b, n, n, coefficients, first_.data());
  along_y(g, q, n, first_.data(), second_.data());
  along_z(b, q, q, second_.data(), derivatives + size);
  along_y(b, q, n, first_.data(), second_.data());
  along_z(g, q, q, second_.data(), derivatives + 2 * size);
}

// The transpose; here two of the last products are done as one.
void TensorProduct::integrate_gradient(const double *derivatives, double *coefficients) {
  const Matrix b = backward(value_), g = backward(slope_);
  const int q = b.columns, n = b.rows;
  const std::size_t size = tensor_size(q);
  along_x(g, q, q, derivatives, first_.data());
  along_y(b, n, q, first_.data(), second_.data());
  along_x(b, q, q, derivatives + size, first_.data());
  along_y(g, n, q, first_.data(), second_.data(), true);
  along_z(b, n, n, second_.data(), coefficients);
  along_x(b, q, q, derivatives + 2 * size, first_.data());
  along_y(b, n, q, first_.data(), second_.data());
  along_z(g, n, n, second_.data(), coefficients, true);
}

} // namespace hydro
