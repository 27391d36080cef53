#include "fem/solve/chebyshev.hpp"

#include "fem/solve/linear.hpp"

#include <array>

namespace haloscope::fem {

namespace {

constexpr int lanczos_steps = 8;
constexpr double safety = 1.1; // Ritz values lie inside the spectrum

constexpr std::array<std::array<double, 4>, 4> weights{{
    {1.12500000000000},
    {1.02387287570313, 1.26408905371085},
    {1.00842544782028, 1.08867839208730, 1.33753125909618},
    {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000},
}};

} // namespace

Chebyshev::Chebyshev(const Linear &matrix, int degree)
    : matrix_(matrix), degree_(degree), inverse_(inverse_diagonal(matrix)), residual_(matrix.rows),
      direction_(matrix.rows), product_(matrix.rows) {
  const double largest = safety * spectrum(matrix, inverse_, lanczos_steps, phase_smoother).upper;
  for (double &value : inverse_) value /= largest;
}

void Chebyshev::smooth(const double *b, double *x, bool zero_guess) {
  const auto &weight = weights.at(static_cast<std::size_t>(degree_ - 1));
  const std::size_t n = matrix_.rows;
  const double *__restrict inverse = inverse_.data();
  double *__restrict r = residual_.data();
  double *__restrict d = direction_.data();
  const double *__restrict product = product_.data();
  const double first = weight[0];
  if (zero_guess) {
    for (std::size_t i = 0; i < n; ++i) {
      d[i] = 4.0 / 3 * inverse[i] * b[i];
      x[i] = first * d[i];
    }
  } else {
    matrix_.apply(x, product_.data(), phase_smoother);
    for (std::size_t i = 0; i < n; ++i) {
      r[i] = b[i] - product[i];
      d[i] = 4.0 / 3 * inverse[i] * r[i];
      x[i] += first * d[i];
    }
  }
  for (int k = 1; k < degree_; ++k) {
    matrix_.apply(d, product_.data(), phase_smoother);
    const double keep = (2.0 * k - 1) / (2 * k + 3);
    const double take = (8.0 * k + 4) / (2 * k + 3);
    const double add = weight.at(static_cast<std::size_t>(k));
    const double *old = k == 1 && zero_guess ? b : r; // the residual of zero needs no copy
    for (std::size_t i = 0; i < n; ++i) {
      r[i] = old[i] - product[i];
      d[i] = keep * d[i] + take * inverse[i] * r[i];
      x[i] += add * d[i];
    }
  }
}

} // namespace haloscope::fem
