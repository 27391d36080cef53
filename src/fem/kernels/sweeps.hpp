// Matrices along all lines of one direction of an element's n³ values, for one element per lane. Each is
// split into its even and odd parts, which halves the multiplications.
#pragma once

#include "fem/kernels/basis.hpp"
#include "fem/kernels/simd_lanes.hpp"

#include <cstdint>

namespace haloscope::fem::kernels {

// A matrix with a(n-1-i, n-1-j) = ±a(i, j): acts on u_i + u_{n-1-i} and on u_i − u_{n-1-i} apart.
template <int n> struct Halves {
  static constexpr int half = n / 2, wide = (n + 1) / 2;

  explicit Halves(const Matrix &a) {
    for (int i = 0; i < wide; ++i) {
      for (int j = 0; j < half; ++j) {
        even[i][j] = (a(i, j) + a(i, n - 1 - j)) / 2;
        odd[i][j] = (a(i, j) - a(i, n - 1 - j)) / 2;
      }
      if (wide > half) even[i][half] = a(i, half);
    }
  }
  double even[wide][wide] = {}, odd[wide][wide] = {};
};

// All even modes first, then the odd ones.
template <int n> struct Modes {
  static constexpr int half = n / 2, wide = (n + 1) / 2;

  explicit Modes(const Basis &basis) {
    for (int m = 0; m < n; ++m) {
      const int place = m % 2 == 0 ? m / 2 : wide + m / 2;
      eigenvalues[place] = m == 0 ? 0 : basis.eigenvalues[static_cast<std::size_t>(m)];
      for (int i = 0; i < wide; ++i) (m % 2 == 0 ? even : odd)[m / 2][i] = basis.modes(m, i);
    }
  }
  double even[wide][wide] = {}, odd[wide][wide] = {}; // a row a mode
  double eigenvalues[n] = {};
};

template <int n> struct Tables {
  explicit Tables(const Basis &basis)
      : interpolate(basis.interpolate), interpolate_back(basis.interpolate.transposed()),
        derive(basis.derive), derive_back(basis.derive.transposed()), modes(basis) {
    for (int i = 0; i < n; ++i) {
      points[i] = basis.points[static_cast<std::size_t>(i)];
      weights[i] = basis.weights[static_cast<std::size_t>(i)];
      for (int j = 0; j < n; ++j) halves[0][i][j] = basis.lower(i, j), halves[1][i][j] = basis.upper(i, j);
    }
  }
  double points[n], weights[n];
  Halves<n> interpolate, interpolate_back, derive, derive_back;
  Modes<n> modes;
  double halves[2][n][n];
};

template <int n> const Tables<n> &tables() {
  static const Tables<n> of_degree{Basis(n - 1)};
  return of_degree;
}

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

// The begins of the lines of a direction, in `layers` layers of an element.
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

// Values of an element with hanging faces or edges. It reads the nodes of the large face or edge there, and
// evaluates that polynomial at its own nodes. The face code is that of p8est_lnodes: three bits of the
// child's place, three of hanging faces (normal to x, y, z, at that corner), three of hanging edges (along x,
// y, z).

// Whether the line along `direction` lies on a hanging face or edge. `first` and `second` say whether it
// touches the corner's side in the two other directions, in ascending order.
inline bool hangs(std::uint16_t code, int direction, bool first, bool second) {
  const auto face = [code](int normal) { return (code >> (3 + normal) & 1) != 0; };
  const int before = direction == 0 ? 1 : 0, after = direction == 2 ? 1 : 2;
  const bool edge = (code >> (6 + direction) & 1) != 0;
  return (first && face(before)) || (second && face(after)) || (first && second && edge);
}

// Degree 1: the end away from the corner becomes the mean.
template <bool transposed> inline void average(Lanes &corner, Lanes &far) {
  if constexpr (transposed)
    far *= 0.5, corner += far;
  else
    far = 0.5 * (corner + far);
}

template <int n, int direction, bool transposed>
inline void interpolate_hanging(std::uint16_t code, Lanes *u) {
  constexpr int stride = stride_of<n, direction>;
  constexpr int before = direction == 0 ? n : 1, after = direction == 2 ? n : n * n;
  const auto side = [code](int normal) { return (code >> normal & 1) != 0 ? n - 1 : 0; };
  const double (&half)[n][n] = tables<n>().halves[code >> direction & 1];
  const int first_side = side(direction == 0 ? 1 : 0), second_side = side(direction == 2 ? 1 : 2);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      if (!hangs(code, direction, i == first_side, j == second_side)) continue;
      Lanes *line = u + i * before + j * after;
      if constexpr (n == 2) {
        const int corner = side(direction);
        average<transposed>(line[corner * stride], line[(1 - corner) * stride]);
        continue;
      }
      Lanes old[n];
      for (int k = 0; k < n; ++k) old[k] = line[k * stride];
      for (int row = 0; row < n; ++row) {
        Lanes sum = {};
        for (int k = 0; k < n; ++k) sum += (transposed ? half[k][row] : half[row][k]) * old[k];
        line[row * stride] = sum;
      }
    }
}

template <int n> inline void from_parents(std::uint16_t code, Lanes *u) {
  interpolate_hanging<n, 2, false>(code, u);
  interpolate_hanging<n, 1, false>(code, u);
  interpolate_hanging<n, 0, false>(code, u);
}

template <int n> inline void to_parents(std::uint16_t code, Lanes *u) {
  interpolate_hanging<n, 0, true>(code, u);
  interpolate_hanging<n, 1, true>(code, u);
  interpolate_hanging<n, 2, true>(code, u);
}

} // namespace haloscope::fem::kernels
