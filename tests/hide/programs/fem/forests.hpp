// The forests of the tests of the mesh.
#pragma once

#include "fem/mesh/forest.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace haloscope::fem::test {

inline double distance(const Point &a, const Point &b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

inline Point bent(Point at) {
  return {at[0] + 0.1 * at[1] * at[2], at[1] + 0.08 * std::sin(2 * at[0]),
          at[2] - 0.1 * at[0] * at[0] * at[1]};
}

inline std::vector<std::pair<std::string, std::function<Forest()>>> forests() {
  const auto ball = [](Point centre, double) { return distance(centre, {0.3, 0.4, 0.6}) < 0.3; };
  const auto sphere = [](Point centre, double size) {
    return std::abs(distance(centre, {0.5, 0.5, 0.5}) - 0.4) < size;
  };
  const auto corner = [](Point centre, double size) { return distance(centre, {0, 0, 0}) < 2 * size; };
  return {
      {"one", [] { return Forest(MPI_COMM_WORLD, {}, 0); }},
      {"uniform", [] { return Forest(MPI_COMM_WORLD, {}, 3); }},
      {"ball",
       [=] {
         Forest forest(MPI_COMM_WORLD, {}, 2);
         forest.refine(ball, 2);
         return forest;
       }},
      {"sphere",
       [=] {
         Forest forest(MPI_COMM_WORLD, {{2, 1, 1}, {}}, 1);
         forest.refine(sphere, 2);
         return forest;
       }},
      {"corner",
       [=] {
         Forest forest(MPI_COMM_WORLD, {{1, 2, 3}, {}}, 0);
         forest.refine(corner, 5);
         return forest;
       }},
      {"bent",
       [=] {
         Forest forest(MPI_COMM_WORLD, {{1, 1, 1}, bent}, 2);
         forest.refine(ball, 1);
         return forest;
       }},
  };
}

} // namespace haloscope::fem::test
