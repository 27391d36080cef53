// The stiffness of trilinear cubes over edge × edge elements (y, z), of which each lane holds others. It is
// diagonal in sums and differences of the corners along each direction.
#pragma once

#include "kernels/lanes.hpp"

namespace haloscope::fem::kernels {

// Sums and differences along x and y at one face of an element.
struct Face {
  Lanes ss, ds, sd, dd; // x first
};

inline Face operator+(Face a, Face b) { return {a.ss + b.ss, a.ds + b.ds, a.sd + b.sd, a.dd + b.dd}; }
inline Face operator-(Face a, Face b) { return {a.ss - b.ss, a.ds - b.ds, a.sd - b.sd, a.dd - b.dd}; }

struct Ends {
  Lanes left, right;
};

// From the values at the lower and the upper face of an element to its contributions there. By its edge and
// coefficient, one difference weighs 1/16, two 1/24, three 1/48, none nothing.
inline void element(Lanes one, Face lower, Face upper, Face &to_lower, Face &to_upper) {
  const Lanes two = one * (2.0 / 3), three = one * (1.0 / 3);
  const Face sum = lower + upper, difference = upper - lower;
  const Face even{Lanes{}, one * sum.ds, one * sum.sd, two * sum.dd};
  const Face odd{one * difference.ss, two * difference.ds, two * difference.sd, three * difference.dd};
  to_lower.ss = to_lower.ss - odd.ss, to_upper.ss = odd.ss;
  to_lower.ds += even.ds - odd.ds, to_upper.ds = even.ds + odd.ds;
  to_lower.sd += even.sd - odd.sd, to_upper.sd = even.sd + odd.sd;
  to_lower.dd += even.dd - odd.dd, to_upper.dd = even.dd + odd.dd;
}

// read(row) gives the values at both ends of the elements along x, of the rows y + (edge + 1) z; write(row,
// ends) takes what is to be added there, row by row; scale(y + edge z) is size × coefficient / 16.
template <int edge, typename Read, typename Write, typename Scale>
inline __attribute__((always_inline)) void column(Read read, Write write, Scale scale) {
  Face lower[edge], result[edge];
  for (int z = 0; z <= edge; ++z) {
    Lanes sum = {}, difference = {};
    Face next[edge];
#pragma GCC unroll 2
    for (int y = 0; y <= edge; ++y) {
      const Ends ends = read(z * (edge + 1) + y);
      const Lanes s = ends.left + ends.right, d = ends.right - ends.left;
      if (y > 0) {
        const Face upper{sum + s, difference + d, s - sum, d - difference};
        if (z > 0)
          element(scale((z - 1) * edge + y - 1), lower[y - 1], upper, result[y - 1], next[y - 1]);
        else
          next[y - 1] = Face{};
        lower[y - 1] = upper;
      }
      sum = s, difference = d;
    }
    const auto finish = [&](int plane, const Face *faces) {
      Lanes s = {}, d = {};
      for (int y = 0; y < edge; ++y) {
        const Face face = faces[y];
        const Lanes along_s = s + (face.ss - face.sd), along_d = d + (face.ds - face.dd);
        write(plane * (edge + 1) + y, Ends{along_s - along_d, along_s + along_d});
        s = face.ss + face.sd, d = face.ds + face.dd;
      }
      write(plane * (edge + 1) + edge, Ends{s - d, s + d});
    };
    if (z > 0) finish(z - 1, result);
    if (z == edge) finish(z, next);
    for (int y = 0; y < edge; ++y) result[y] = next[y];
  }
}

} // namespace haloscope::fem::kernels
