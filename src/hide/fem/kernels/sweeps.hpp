// One matrix along all lines of one direction of an element's n³ values, eight elements or so at once.
#pragma once

#include "hide/fem/kernels/tables.hpp"

namespace haloscope::fem::kernels {

template <int n> struct Parts {
  static constexpr int half = n / 2, wide = (n + 1) / 2;

  template <int stride> static Parts of(const Lanes *u) {
    Parts parts;
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) {
      const Lanes first = u[i * stride], last = u[(n - 1 - i) * stride];
      parts.even[i] = first + last, parts.odd[i] = first - last;
    }
    if constexpr (wide > half) parts.even[half] = u[half * stride];
    return parts;
  }

  Lanes even[wide], odd[wide];
};

template <int terms> inline Lanes dot(const double *row, const Lanes *values) {
  Lanes sum = row[0] * values[0];
#pragma GCC unroll 8
  for (int j = 1; j < terms; ++j) sum += row[j] * values[j];
  return sum;
}

// out (+)= a in, along one line; `anti`: a changes its sign under reversal, as a derivative does.
template <int n, bool anti, bool add, int stride>
inline void along(const Halves<n> &a, const Lanes *in, Lanes *out) {
  constexpr int half = n / 2, wide = (n + 1) / 2;
  const auto parts = Parts<n>::template of<stride>(in);
  const auto put = [out](int i, Lanes value) {
    if constexpr (add)
      out[i * stride] += value;
    else
      out[i * stride] = value;
  };
#pragma GCC unroll 8
  for (int i = 0; i < half; ++i) {
    const Lanes even = dot<wide>(a.even[i], parts.even), odd = dot<half>(a.odd[i], parts.odd);
    put(i, even + odd);
    put(n - 1 - i, anti ? odd - even : even - odd);
  }
  if constexpr (wide > half)
    put(half, anti ? dot<half>(a.odd[half], parts.odd) : dot<wide>(a.even[half], parts.even));
}

// Where the lines of a direction begin, in `planes` layers of an element.
template <int n, int direction, int layers = n, typename Line> inline void each_line(Line line) {
  constexpr int across = direction == 0 ? n : 1, lines = direction == 2 ? n * n : n;
  constexpr int between = direction == 2 ? 0 : n * n;
  for (int layer = 0; layer < (direction == 2 ? 1 : layers); ++layer)
    for (int i = 0; i < lines; ++i) line(layer * between + i * across);
}

template <int n, int direction>
inline constexpr int stride_of = direction == 0   ? 1
                                 : direction == 1 ? n
                                                  : n * n;

template <int n, int direction, bool anti = false, bool add = false, int layers = n>
inline void sweep(const Halves<n> &a, const Lanes *in, Lanes *out) {
  each_line<n, direction, layers>(
      [&](int begin) { along<n, anti, add, stride_of<n, direction>>(a, in + begin, out + begin); });
}

// Operations of one matrix along all lines of one direction.
template <int n> inline constexpr int products = (n / 2) * (n / 2) + ((n + 1) / 2) * ((n + 1) / 2);
template <int n> inline constexpr double sweep_flops = n * n * (2 * products<n> + n);

template <int n> inline void sweep_all(const Halves<n> &a, Lanes *u) {
  sweep<n, 0>(a, u, u);
  sweep<n, 1>(a, u, u);
  sweep<n, 2>(a, u, u);
}

} // namespace haloscope::fem::kernels
