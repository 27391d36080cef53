// The operator of an element on its n³ values, in place.
#pragma once

#include "fem/kernels/cells.hpp"
#include "fem/kernels/metric.hpp"
#include "fem/kernels/sweeps.hpp"

namespace haloscope::fem::kernels {

// The coefficient of a batch: one an element, or one an element and point.
struct Coefficients {
  const double *values;
  int stride; // lanes, or 0
  Lanes at(int point) const { return load(values + static_cast<std::ptrdiff_t>(point) * stride); }
};

// The stiffness of a cube with one coefficient is diagonal in products of the modes of one direction.
template <int n> class ModalStiffness {
public:
  static constexpr int numbers = 1;
  static constexpr double flops = 6 * sweep_flops<n> + 3 * n * n * n;
  ModalStiffness(Choices, const double *sizes, Coefficients coefficient)
      : factor_(coefficient.at(0) * load(sizes)), modes_(tables<n>().modes) {}

  void apply(Lanes *u) const {
    each_line<n, 0>([&](int begin) { forward<1>(u + begin, u + begin); });
    each_line<n, 1>([&](int begin) { forward<n>(u + begin, u + begin); });
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) middle(u + j * n + i, modes_.eigenvalues[i] + modes_.eigenvalues[j]);
    each_line<n, 1>([&](int begin) { backward<n>(u + begin, u + begin); });
    each_line<n, 0>([&](int begin) { backward<1>(u + begin, u + begin); });
  }

private:
  static constexpr int half = n / 2, wide = (n + 1) / 2;

  template <int stride> void forward(const Lanes *in, Lanes *out) const {
    const auto parts = Parts<n>::template of<stride>(in);
#pragma GCC unroll 8
    for (int m = 0; m < wide; ++m) out[m * stride] = dot<wide>(modes_.even[m], parts.even);
#pragma GCC unroll 8
    for (int m = 0; m < half; ++m) out[(wide + m) * stride] = dot<half>(modes_.odd[m], parts.odd);
  }
  template <int stride> void backward(const Lanes *in, Lanes *out) const {
    Lanes value[n];
#pragma GCC unroll 9
    for (int m = 0; m < n; ++m) value[m] = in[m * stride];
#pragma GCC unroll 8
    for (int i = 0; i < wide; ++i) {
      Lanes even = modes_.even[0][i] * value[0], odd = {};
#pragma GCC unroll 8
      for (int m = 1; m < wide; ++m) even += modes_.even[m][i] * value[m];
      if (i == half) {
        out[i * stride] = even;
        break;
      }
#pragma GCC unroll 8
      for (int m = 0; m < half; ++m) odd += modes_.odd[m][i] * value[wide + m];
      out[i * stride] = even + odd, out[(n - 1 - i) * stride] = even - odd;
    }
  }
  void middle(Lanes *u, double eigenvalue) const {
    Lanes line[n];
    forward<n * n>(u, u);
#pragma GCC unroll 9
    for (int k = 0; k < n; ++k) line[k] = u[k * n * n] * (factor_ * (eigenvalue + modes_.eigenvalues[k]));
#pragma GCC unroll 9
    for (int k = 0; k < n; ++k) u[k * n * n] = line[k];
    backward<n * n>(u, u);
  }

  Lanes factor_;
  const Modes<n> &modes_;
};

// Any geometry and coefficient: Gauss quadrature by sum factorisation.
template <int n, typename Metric> class Stiffness {
public:
  static constexpr int numbers = Metric::numbers;
  static constexpr double flops = 12 * sweep_flops<n> + n * n * n * Metric::flops;
  Stiffness(Choices, const double *geometry, Coefficients coefficient)
      : metric_(geometry), coefficient_(coefficient), t_(tables<n>()) {}

  void apply(Lanes *u) {
    Lanes gz[n * n * n];
    sweep_all(t_.interpolate, u);
    sweep<n, 2, true>(t_.derive, u, gz);
    for (int k = 0; k < n; ++k) layer(k, u + k * n * n, gz + k * n * n);
    sweep<n, 2, true, true>(t_.derive_back, gz, u);
    sweep_all(t_.interpolate_back, u);
  }

private:
  void layer(int k, Lanes *u, Lanes *gz) {
    Lanes gx[n * n], gy[n * n];
    sweep<n, 0, true, false, 1>(t_.derive, u, gx);
    sweep<n, 1, true, false, 1>(t_.derive, u, gy);
    metric_.layer(t_.points[k]);
    for (int j = 0; j < n; ++j) {
      metric_.row(t_.points[j]);
      for (int i = 0; i < n; ++i) {
        const int at = j * n + i;
        const Lanes scale = coefficient_.at(k * n * n + at) * (t_.weights[i] * t_.weights[j] * t_.weights[k]);
        metric_.flux(t_.points[i], scale, gx[at], gy[at], gz[at]);
      }
    }
    sweep<n, 0, true, false, 1>(t_.derive_back, gx, u);
    sweep<n, 1, true, true, 1>(t_.derive_back, gy, u);
  }

  Metric metric_;
  Coefficients coefficient_;
  const Tables<n> &t_;
};

// The mass and the derivatives, which are not on the fastest paths: trilinear elements alone.
template <int n> class LowerOrder {
public:
  static constexpr int numbers = TrilinearMetric::numbers;
  static constexpr double flops = 9 * sweep_flops<n> + n * n * n * TrilinearMetric::flops;
  LowerOrder(Choices choices, const double *vertices, Coefficients coefficient)
      : choices_(choices), metric_(vertices), coefficient_(coefficient), t_(tables<n>()) {}

  void apply(Lanes *u) {
    Lanes g[3][n * n * n];
    sweep_all(t_.interpolate, u);
    const bool derives = choices_.part != Part::mass;
    if (derives && !choices_.transposed) {
      sweep<n, 0, true>(t_.derive, u, g[0]);
      sweep<n, 1, true>(t_.derive, u, g[1]);
      sweep<n, 2, true>(t_.derive, u, g[2]);
    }
    for (int at = 0; at < n * n * n; ++at) point(at, u[at], g[0][at], g[1][at], g[2][at]);
    if (derives && choices_.transposed) {
      sweep<n, 0, true>(t_.derive_back, g[0], u);
      sweep<n, 1, true, true>(t_.derive_back, g[1], u);
      sweep<n, 2, true, true>(t_.derive_back, g[2], u);
    }
    sweep_all(t_.interpolate_back, u);
  }

private:
  void point(int at, Lanes &u, Lanes &gx, Lanes &gy, Lanes &gz) {
    const int i = at % n, j = at / n % n, k = at / (n * n);
    metric_.layer(t_.points[k]);
    metric_.row(t_.points[j]);
    Vector a, b, c;
    const Lanes volume = metric_.cofactors(t_.points[i], a, b, c);
    const Lanes scale = coefficient_.at(at) * (t_.weights[i] * t_.weights[j] * t_.weights[k]);
    const auto component = [this](Vector v) {
      return choices_.part == Part::derivative_x ? v.x : choices_.part == Part::derivative_y ? v.y : v.z;
    };
    if (choices_.part == Part::mass)
      u *= scale * volume;
    else if (choices_.transposed)
      gx = component(a) * scale * u, gy = component(b) * scale * u, gz = component(c) * scale * u;
    else
      u = scale * (component(a) * gx + component(b) * gy + component(c) * gz);
  }

  Choices choices_;
  TrilinearMetric metric_;
  Coefficients coefficient_;
  const Tables<n> &t_;
};

// Degree 1 on trilinear elements: the values are a fourth coordinate of the trilinear map, whose slopes at a
// point follow from few sums; that beats three sweeps of 2 × 2 matrices.

// Coefficients of ξ, η, ζ and their products, or the sums for each.
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
