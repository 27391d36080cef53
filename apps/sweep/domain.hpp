// A rank's share of the zones, divided into blocks (zone sets).
#ifndef APPS_SWEEP_DOMAIN_HPP
#define APPS_SWEEP_DOMAIN_HPP

#include "../common/process_grid.hpp"
#include "parameters.hpp"

#include <cstddef>

namespace sweep {

using apps::Part;
using apps::part_of;

struct Block {
  Int3 place; // among the rank's blocks
  Int3 first; // zone within the rank
  Int3 zones;

  // Faces across an axis.
  long faces(std::size_t axis) const {
    return static_cast<long>(zones[0]) * zones[1] * zones[2] / zones[axis];
  }
};

struct Domain {
  apps::ProcessGrid grid;
  Int3 origin, zones; // of this rank in the whole grid
  Int3 zset;
  std::vector<Block> blocks;

  Domain(const Parameters &p, int rank);

  std::size_t size() const {
    return static_cast<std::size_t>(zones[0]) * static_cast<std::size_t>(zones[1]) *
           static_cast<std::size_t>(zones[2]);
  }
  int block_at(Int3 place) const { return place[0] + zset[0] * (place[1] + zset[1] * place[2]); }
};

} // namespace sweep

#endif
