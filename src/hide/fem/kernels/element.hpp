// The operator of an element on its n³ values, in place.
#pragma once

#include "hide/fem/kernels/cells.hpp"
#include "hide/fem/kernels/metric.hpp"
#include "hide/fem/kernels/sweeps.hpp"

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

} // namespace haloscope::fem::kernels
