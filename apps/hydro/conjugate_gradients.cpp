#include "conjugate_gradients.hpp"

#include "../common/simd.hpp"

namespace hydro {

namespace {

APPS_FAST void scale_then_add_all(double factor, const double *x, double *y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + factor * y[i];
}

APPS_FAST void add_scaled_all(double factor, const double *x, double *y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

} // namespace

void scale_then_add(double factor, const Vector &x, Vector &y) {
  scale_then_add_all(factor, x.data(), y.data(), y.size());
}

void add_scaled(double factor, const Vector &x, Vector &y) {
  add_scaled_all(factor, x.data(), y.data(), y.size());
}

} // namespace hydro
