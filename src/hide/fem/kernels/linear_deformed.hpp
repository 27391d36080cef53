// Degree 1 on trilinear elements: the values are a fourth coordinate of the trilinear map, whose slopes at a
// point follow from few sums; that beats three sweeps of 2 × 2 matrices.
#pragma once

#include "hide/fem/kernels/element.hpp"

namespace haloscope::fem::kernels {

// Coefficients of ξ, η, ζ and their products, or what is summed up for each.
struct Trilinear {
  Lanes x, y, z, xy, xz, yz, xyz;
};

template <> class Stiffness<2, TrilinearMetric> {
public:
  static constexpr int numbers = TrilinearMetric::numbers;
  static constexpr double flops = 60 + 8 * (TrilinearMetric::flops + 10) + 4 * 18;
  Stiffness(Choices, const double *vertices, Coefficients coefficient)
      : vertices_(vertices), coefficient_(coefficient) {}

  void apply(Lanes *u) const {
    TrilinearMetric metric(vertices_);
    const Trilinear of = expand(u);
    Trilinear sum{};
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      metric.layer(points[k]);
      layer(k, metric, of, sum);
    }
    collect(sum, u);
  }

private:
  static constexpr double points[2] = {0.21132486540518711775, 0.78867513459481288225};

  static Trilinear expand(const Lanes *u) {
    const Lanes x = u[1] - u[0], y = u[2] - u[0], z = u[4] - u[0];
    const Lanes xz = u[5] - u[1] - z, above = u[6] - u[2];
    return {x, y, z, u[3] - u[2] - x, xz, above - z, u[7] - u[3] - above - xz};
  }
  static void collect(const Trilinear &sum, Lanes *u) {
    const Lanes xy = sum.xy - sum.xyz, xz = sum.xz - sum.xyz, yz = sum.yz - sum.xyz;
    u[1] = sum.x - sum.xy - xz, u[2] = sum.y - sum.yz - xy, u[3] = xy;
    u[4] = sum.z - sum.xz - yz, u[5] = xz, u[6] = yz, u[7] = sum.xyz;
    u[0] = -(u[1] + u[2] + u[3] + u[4] + u[5] + u[6] + u[7]);
  }

  void layer(int k, TrilinearMetric &metric, const Trilinear &of, Trilinear &sum) const {
    const double zeta = points[k];
    const Lanes x = of.x + zeta * of.xz, y = of.y + zeta * of.yz, xy = of.xy + zeta * of.xyz;
    Lanes sum_x = {}, sum_y = {}, sum_xy = {};
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const double eta = points[j];
      metric.row(eta);
      const Lanes along_x = x + eta * xy, z = of.z + eta * of.yz, xz = of.xz + eta * of.xyz;
      Lanes row_x = {}, row_y = {}, row_xy = {}, row_z = {}, row_xz = {};
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const double xi = points[i];
        Lanes gx = along_x, gy = y + xi * xy, gz = z + xi * xz;
        metric.flux(xi, coefficient_.at(k * 4 + j * 2 + i) * 0.125, gx, gy, gz);
        row_x += gx, row_y += gy, row_xy += xi * gy, row_z += gz, row_xz += xi * gz;
      }
      sum_x += row_x, sum_y += row_y, sum_xy += row_xy + eta * row_x;
      sum.z += row_z, sum.yz += eta * row_z, sum.xz += row_xz, sum.xyz += eta * row_xz;
    }
    sum.x += sum_x, sum.xz += zeta * sum_x, sum.y += sum_y, sum.yz += zeta * sum_y;
    sum.xy += sum_xy, sum.xyz += zeta * sum_xy;
  }

  const double *vertices_;
  Coefficients coefficient_;
};

} // namespace haloscope::fem::kernels
