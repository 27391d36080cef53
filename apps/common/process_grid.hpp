// Ranks on a three-dimensional grid, x fastest.
#ifndef APPS_COMMON_PROCESS_GRID_HPP
#define APPS_COMMON_PROCESS_GRID_HPP

#include "options.hpp"

namespace apps {

struct ProcessGrid {
  Int3 dims{1, 1, 1};
  Int3 coords{0, 0, 0};

  ProcessGrid(Int3 dimensions, int rank)
      : dims(dimensions), coords{rank % dims[0], rank / dims[0] % dims[1], rank / dims[0] / dims[1]} {}

  // The rank at `offset` from this one, or -1 outside the grid.
  int neighbour(Int3 offset) const {
    int rank = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      const int c = coords[a] + offset[a];
      if (c < 0 || c >= dims[a]) return -1;
      rank = rank * dims[a] + c;
    }
    return rank;
  }
};

// First item and number of items of one part out of `parts`; they differ by one at most.
struct Part {
  int first, count;
};

inline Part part_of(int items, int parts, int part) {
  const auto edge = [&](int p) { return static_cast<int>(static_cast<long>(items) * p / parts); };
  return {edge(part), edge(part + 1) - edge(part)};
}

// The factors of `ranks` with the smallest sum, largest first: as near to a cube as it can be.
inline Int3 near_cube(int ranks) {
  Int3 best{ranks, 1, 1};
  for (int z = 1; z * z * z <= ranks; ++z) {
    if (ranks % z != 0) continue;
    for (int y = z; y * y <= ranks / z; ++y) {
      if ((ranks / z) % y != 0) continue;
      const int x = ranks / z / y;
      if (x + y + z < best[0] + best[1] + best[2]) best = {x, y, z};
    }
  }
  return best;
}

inline void require_ranks(Int3 dims, int ranks, const std::string &option = "--procs") {
  const bool positive = dims[0] > 0 && dims[1] > 0 && dims[2] > 0;
  if (!positive || static_cast<long>(dims[0]) * dims[1] * dims[2] != ranks)
    throw UsageError(option + ' ' + show_value(dims) + " is not a grid of the " + std::to_string(ranks) +
                     (ranks == 1 ? " rank that was started" : " ranks that were started"));
}

} // namespace apps

#endif
