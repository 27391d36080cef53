// The stiffness of trilinear cubes over edge × edge elements (y, z), of which each lane holds others. It is
// diagonal in sums and differences of the corners along each direction.
#pragma once

#include "fem/kernels/simd_lanes.hpp"

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

// read(row) gives the values at both ends of the elements along x, of the rows y + (edge + 1) z. write(row,
// ends) adds values there, row by row. scale(y + edge z) is size × coefficient / 16.
template <int edge, typename Read, typename Write, typename Scale> class Column {
public:
  Column(Read read, Write write, Scale scale) : read_(read), write_(write), scale_(scale) {}

  [[gnu::always_inline]] void run() {
    plane<true>(0);
    if constexpr (edge == 2) {
      plane<false>(1);
      plane<false>(2);
    } else {
      for (int z = 1; z <= edge; ++z) plane<false>(z);
    }
    Pair carried;
#pragma GCC unroll 2
    for (int y = 0; y < edge; ++y) carried = finish(edge, y, result_[y], carried);
    finish(edge, edge, Face{}, carried);
  }

private:
  struct Pair {
    Lanes sum = {}, difference = {}; // along x
  };

  // Reads a plane of rows, applies the elements below it, and writes the plane below.
  template <bool first> [[gnu::always_inline]] void plane(int z) {
    Pair before, carried;
#pragma GCC unroll 3
    for (int y = 0; y <= edge; ++y) {
      const Ends ends = read_(z * (edge + 1) + y);
      const Pair here{ends.left + ends.right, ends.right - ends.left};
      if (y > 0) {
        const Face upper{before.sum + here.sum, before.difference + here.difference, here.sum - before.sum,
                         here.difference - before.difference};
        Face to_upper{};
        if constexpr (!first) {
          Face to_lower = result_[y - 1];
          element(scale_((z - 1) * edge + y - 1), lower_[y - 1], upper, to_lower, to_upper);
          carried = finish(z - 1, y - 1, to_lower, carried);
        }
        lower_[y - 1] = upper, result_[y - 1] = to_upper;
      }
      before = here;
    }
    if constexpr (!first) finish(z - 1, edge, Face{}, carried);
  }

  // Writes a row that has its elements of higher y in `face` and those of lower y carried.
  [[gnu::always_inline]] Pair finish(int z, int y, Face face, Pair carried) {
    const Lanes sum = carried.sum + (face.ss - face.sd),
                difference = carried.difference + (face.ds - face.dd);
    write_(z * (edge + 1) + y, Ends{sum - difference, sum + difference});
    return {face.ss + face.sd, face.ds + face.dd};
  }

  Read read_;
  Write write_;
  Scale scale_;
  Face lower_[edge], result_[edge];
};

template <int edge, typename Read, typename Write, typename Scale>
[[gnu::always_inline]] inline void column(Read read, Write write, Scale scale) {
  Column<edge, Read, Write, Scale>(read, write, scale).run();
}

} // namespace haloscope::fem::kernels
