// The geometry of elements at Gauss points, made on the fly: that is cheaper than to read it.
#pragma once

#include "fem/kernels/simd_lanes.hpp"

namespace haloscope::fem::kernels {

struct Vector {
  Lanes x, y, z;
};

inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
inline Lanes dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// Edge length h: gradients scale by 1/h, volumes by h³.
class CubeMetric {
public:
  static constexpr int numbers = 1;  // an element
  static constexpr double flops = 5; // a point
  explicit CubeMetric(const double *sizes) : size_(load(sizes)) {}
  void layer(double) {}
  void row(double) {}
  void flux(double, Lanes scale, Lanes &gx, Lanes &gy, Lanes &gz) const {
    const Lanes factor = scale * size_;
    gx *= factor, gy *= factor, gz *= factor;
  }

private:
  Lanes size_;
};

// The trilinear image of the unit cube with the vertices given: x, y, z of each, vertices lexicographic.
class TrilinearMetric {
public:
  static constexpr int numbers = 24;
  static constexpr double flops = 90; // a point: 12 for its place, 32 cofactors, 10 reciprocal, 34 fluxes
  explicit TrilinearMetric(const double *vertices) {
    Vector lower[4];
    for (int i = 0; i < 4; ++i) lower[i] = vertex(vertices, i), up_[i] = vertex(vertices, 4 + i) - lower[i];
    x_ = lower[1] - lower[0], y_ = lower[2] - lower[0], xy_ = lower[3] - lower[2] - x_;
    xz_ = up_[1] - up_[0], yz_ = up_[2] - up_[0], xyz_ = up_[3] - up_[2] - xz_;
  }
  // ∂/∂ξ, ∂/∂η, ∂/∂ζ are bilinear: what each layer, row and point adds.
  void layer(double zeta) {
    layer_x_ = x_ + zeta * xz_, layer_y_ = y_ + zeta * yz_, layer_xy_ = xy_ + zeta * xyz_;
  }
  void row(double eta) {
    row_x_ = layer_x_ + eta * layer_xy_;
    row_z_ = up_[0] + eta * yz_, row_xz_ = xz_ + eta * xyz_;
  }
  // The columns of the inverse of the Jacobian, times its determinant, which is returned.
  Lanes cofactors(double xi, Vector &a, Vector &b, Vector &c) const {
    const Vector along_y = layer_y_ + xi * layer_xy_, along_z = row_z_ + xi * row_xz_;
    a = cross(along_y, along_z), b = cross(along_z, row_x_), c = cross(row_x_, along_y);
    return dot(row_x_, a);
  }
  void flux(double xi, Lanes scale, Lanes &gx, Lanes &gy, Lanes &gz) const {
    Vector a, b, c;
    const Lanes factor = scale * reciprocal(cofactors(xi, a, b, c));
    const Vector flow{factor * (gx * a.x + gy * b.x + gz * c.x), factor * (gx * a.y + gy * b.y + gz * c.y),
                      factor * (gx * a.z + gy * b.z + gz * c.z)};
    gx = dot(a, flow), gy = dot(b, flow), gz = dot(c, flow);
  }

private:
  static Vector vertex(const double *vertices, int i) {
    const double *at = vertices + 3 * lanes * i;
    return {load(at), load(at + lanes), load(at + 2 * lanes)};
  }
  Vector up_[4], x_, y_, xy_, xz_, yz_, xyz_;
  Vector layer_x_, layer_y_, layer_xy_, row_x_, row_z_, row_xz_;
};

} // namespace haloscope::fem::kernels
