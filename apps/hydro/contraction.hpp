// Sum factorisation: tensors with three axes (x fastest) are multiplied by a small matrix along one axis at a
// time. Values of `lanes` zones are adjacent, so that one instruction processes several zones.
#ifndef APPS_HYDRO_CONTRACTION_HPP
#define APPS_HYDRO_CONTRACTION_HPP

#include "polynomials.hpp"

#include <cstddef>

namespace hydro {

constexpr int lanes = 8;

// One zone's tensor of n³ values, for all lanes.
constexpr std::size_t tensor_size(int n) { return static_cast<std::size_t>(n) * n * n * lanes; }

// By rows.
struct AxisMatrix {
  const double *entries;
  int rows, columns;
};

// Owns the memory for intermediate results between the axes.
class TensorProduct {
public:
  // Tables of one shape: `value` and, if derivatives are taken, `slope`; rows are points, columns functions.
  TensorProduct(Table value, Table slope);
  explicit TensorProduct(const Table &value) : TensorProduct(value, value) {}

  // Coefficients to values at points, and the transpose. `add`: to the values already in the result.
  void interpolate(const double *coefficients, double *values);
  void integrate(const double *values, double *coefficients, bool add = false);

  // Coefficients to the derivatives along x, y and z, one tensor after the other, and the transpose.
  void gradient(const double *coefficients, double *derivatives);
  void integrate_gradient(const double *derivatives, double *coefficients);

private:
  void along_all(const AxisMatrix &m, const double *in, double *out, bool add);

  Table value_, slope_;
  Vector first_, second_;
};

} // namespace hydro

#endif
