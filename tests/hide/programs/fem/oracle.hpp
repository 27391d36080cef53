// The number of nodes of a forest, without p8est's numbering: vertices, edges, faces and interiors that no
// larger leaf contains, each once, by integer coordinates. Slow.
#pragma once

#include "fem/mesh/forest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace haloscope::fem::test {

using Box = std::array<std::int64_t, 6>; // lower corner, upper corner

// The leaves of all ranks, on each rank.
inline std::vector<Box> all_boxes(const Forest &forest) {
  std::vector<Box> mine;
  for (const Leaf &leaf : forest.leaves()) {
    const Point corner = forest.corner(leaf);
    const double scale = 6.0 * (1 << root_bits); // integral, also for three trees in a row
    Box box{};
    for (std::size_t d = 0; d < 3; d++) {
      box.at(d) = std::llround(scale * corner.at(d));
      box.at(d + 3) = box.at(d) + std::llround(scale * forest.size(leaf));
    }
    mine.push_back(box);
  }
  const auto bytes = static_cast<int>(mine.size() * sizeof(Box));
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> counts(static_cast<std::size_t>(ranks)), starts(counts);
  MPI_Allgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t i = 1; i < starts.size(); i++) starts[i] = starts[i - 1] + counts[i - 1];
  std::vector<Box> all(static_cast<std::size_t>(starts.back() + counts.back()) / sizeof(Box));
  MPI_Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), starts.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  return all;
}

inline bool contains(const Box &box, const Box &part) {
  for (std::size_t d = 0; d < 3; d++)
    if (part.at(d) < box.at(d) || part.at(d + 3) > box.at(d + 3)) return false;
  return true;
}

// A side: lower, upper, or all of the leaf's extent, in each direction.
inline Box part(const Box &box, const std::array<int, 3> &side) {
  Box part = box;
  for (std::size_t d = 0; d < 3; d++) {
    if (side.at(d) == 0) part.at(d + 3) = box.at(d);
    if (side.at(d) == 1) part.at(d) = box.at(d + 3);
  }
  return part;
}

// A part has no node if a larger leaf contains it and it is not a vertex of that leaf.
inline bool hangs(const Box &part, std::int64_t edge, const std::vector<Box> &leaves) {
  const bool vertex = part[0] == part[3] && part[1] == part[4] && part[2] == part[5];
  return std::ranges::any_of(leaves, [&](const Box &leaf) {
    if (leaf[3] - leaf[0] <= edge || !contains(leaf, part)) return false;
    if (!vertex) return true;
    for (std::size_t d = 0; d < 3; d++)
      if (part.at(d) != leaf.at(d) && part.at(d) != leaf.at(d + 3)) return true;
    return false;
  });
}

inline std::int64_t count_nodes(const Forest &forest, int degree) {
  const std::vector<Box> leaves = all_boxes(forest);
  std::set<Box> seen;
  std::int64_t count = 0;
  for (const Box &leaf : leaves)
    for (int side = 0; side < 27; side++) {
      const std::array<int, 3> sides{side % 3, side / 3 % 3, side / 9};
      const Box piece = part(leaf, sides);
      if (!seen.insert(piece).second || hangs(piece, leaf[3] - leaf[0], leaves)) continue;
      std::int64_t nodes = 1;
      for (const int extent : sides) nodes *= extent == 2 ? degree - 1 : 1;
      count += nodes;
    }
  return count;
}

} // namespace haloscope::fem::test
