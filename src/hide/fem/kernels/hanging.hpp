// Values of an element whose faces or edges hang: it reads the nodes of the large face or edge there,
// whose polynomial it takes at its own nodes. The face code is that of p8est_lnodes: three bits of the
// child's place, three of hanging faces (normal to x, y, z, at that corner), three of hanging edges (along x,
// y, z).
#pragma once

#include "hide/fem/kernels/sweeps.hpp"

#include <cstdint>

namespace haloscope::fem::kernels {

// Does the line along `direction` lie on a hanging face or edge? `first` and `second` say whether it
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
