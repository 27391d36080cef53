#include "matrix3.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace hydro {

namespace {

double dot(const Vector3 &a, const Vector3 &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Vector3 cross(const Vector3 &a, const Vector3 &b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector3 times(const Matrix3 &a, const Vector3 &v) { return {dot(a[0], v), dot(a[1], v), dot(a[2], v)}; }

Vector3 scaled(const Vector3 &v, double factor) { return {v[0] * factor, v[1] * factor, v[2] * factor}; }

// For a symmetric matrix minus an eigenvalue that is far from the two others. The rows span the plane that is
// normal to the eigenvector, and the longest of their cross products is not small.
Vector3 kernel(Matrix3 a, double eigenvalue) {
  for (std::size_t i = 0; i < 3; ++i) a[i][i] -= eigenvalue;
  const std::array<Vector3, 3> normals{cross(a[0], a[1]), cross(a[1], a[2]), cross(a[2], a[0])};
  const Vector3 &longest = *std::ranges::max_element(
      normals, [](const Vector3 &v, const Vector3 &w) { return dot(v, v) < dot(w, w); });
  return scaled(longest, 1 / length(longest));
}

Vector3 any_normal(const Vector3 &v) {
  const bool x_is_small = std::abs(v[0]) < std::abs(v[1]);
  const Vector3 normal = x_is_small ? Vector3{0, v[2], -v[1]} : Vector3{-v[2], 0, v[0]};
  return scaled(normal, 1 / length(normal));
}

// The lesser eigenpair of what the matrix does in the plane normal to an eigenvector.
Eigenpair least_in_plane(const Matrix3 &a, const Vector3 &eigenvector) {
  const Vector3 s = any_normal(eigenvector), t = cross(eigenvector, s);
  const Vector3 as = times(a, s);
  const double ss = dot(s, as), st = dot(t, as), tt = dot(t, times(a, t));
  const double half = 0.5 * (ss - tt), radius = std::hypot(half, st);
  if (radius == 0) return {ss, s};
  // the sum that does not cancel
  const Vector3 in_plane = half > 0 ? Vector3{-st, half + radius, 0} : Vector3{radius - half, -st, 0};
  const double norm = std::hypot(in_plane[0], in_plane[1]);
  const double c = in_plane[0] / norm, d = in_plane[1] / norm;
  return {0.5 * (ss + tt) - radius, {c * s[0] + d * t[0], c * s[1] + d * t[1], c * s[2] + d * t[2]}};
}

} // namespace

double length(const Vector3 &v) { return std::sqrt(dot(v, v)); }

Matrix3 inverse(const Matrix3 &a, double determinant) {
  const Vector3 x = cross(a[1], a[2]), y = cross(a[2], a[0]), z = cross(a[0], a[1]);
  const double r = 1 / determinant;
  return {{{r * x[0], r * y[0], r * z[0]}, {r * x[1], r * y[1], r * z[1]}, {r * x[2], r * y[2], r * z[2]}}};
}

Matrix3 product(const Matrix3 &a, const Matrix3 &b) {
  Matrix3 c{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
  return c;
}

// Either the least or the greatest eigenvalue is at least as far from the middle one as the mean is from the
// others. It comes from the angle of the characteristic polynomial. The other two are in a plane.
Eigenpair least_eigenpair(const Matrix3 &a) {
  const double mean = (a[0][0] + a[1][1] + a[2][2]) / 3;
  Matrix3 b = a;
  double square = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    b[i][i] -= mean;
    square += dot(b[i], b[i]);
  }
  const double scale = std::sqrt(square / 6);
  if (!(scale > 0)) return {mean, {1, 0, 0}};
  for (Vector3 &row : b) row = scaled(row, 1 / scale);
  const double cosine = std::clamp(0.5 * determinant(b), -1.0, 1.0);
  const double angle = std::acos(cosine) / 3;
  if (cosine < 0) {
    const Vector3 v = kernel(b, 2 * std::cos(angle + 2 * std::numbers::pi / 3));
    return {mean + scale * dot(v, times(b, v)), v};
  }
  const Eigenpair least = least_in_plane(b, kernel(b, 2 * std::cos(angle)));
  return {mean + scale * least.value, least.vector};
}

double least_singular_value(const Matrix3 &a) {
  Matrix3 squared{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      squared[i][j] = a[0][i] * a[0][j] + a[1][i] * a[1][j] + a[2][i] * a[2][j];
  return std::sqrt(std::max(0.0, least_eigenpair(squared).value));
}

} // namespace hydro
