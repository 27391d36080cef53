// Polynomials through Gauss-Lobatto points, tabulated at Gauss points of [0, 1]; plain, to be read and to
// be compared with.
#pragma once

#include <vector>

namespace haloscope::fem {

struct Tabulated {
  // `wanted` Gauss points; 0: degree + 1.
  explicit Tabulated(int degree, int wanted = 0);

  int nodes, count;                    // degree + 1 and quadrature points
  std::vector<double> points, weights; // of the quadrature
  std::vector<double> values, slopes;  // count × nodes
  // At the lower or upper half's Gauss-Lobatto points: nodes × nodes each.
  std::vector<double> halves[2];
};

} // namespace haloscope::fem
