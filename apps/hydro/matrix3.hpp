// Matrices of 3 × 3 at a quadrature point.
#ifndef APPS_HYDRO_MATRIX3_HPP
#define APPS_HYDRO_MATRIX3_HPP

#include <array>

namespace hydro {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>; // rows

inline double determinant(const Matrix3 &a) {
  return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
         a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
         a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

// Times the determinant, it is the inverse.
Matrix3 inverse(const Matrix3 &a, double determinant);

Matrix3 product(const Matrix3 &a, const Matrix3 &b);

// The least eigenvalue of a symmetric matrix and a unit vector to it, both to rounding, whether or not
// others are close.
struct Eigenpair {
  double value;
  Vector3 vector;
};
Eigenpair least_eigenpair(const Matrix3 &a);

double least_singular_value(const Matrix3 &a);

double length(const Vector3 &v);

} // namespace hydro

#endif
