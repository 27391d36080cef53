#include "domain.hpp"

namespace sweep {

Domain::Domain(const Parameters &p, int rank) : grid(p.procs, rank), zset(p.zset) {
  // Blocks are cut from the whole grid, so that faces match between ranks also where zones don't divide.
  const auto part = [&](std::size_t axis, int block) {
    return part_of(p.zones[axis], p.procs[axis] * zset[axis], grid.coords[axis] * zset[axis] + block);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Part last = part(axis, zset[axis] - 1);
    origin[axis] = part(axis, 0).first;
    zones[axis] = last.first + last.count - origin[axis];
  }
  for (int z = 0; z < zset[2]; ++z)
    for (int y = 0; y < zset[1]; ++y)
      for (int x = 0; x < zset[0]; ++x) {
        Block block{{x, y, z}, {}, {}};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const Part own = part(axis, block.place[axis]);
          block.first[axis] = own.first - origin[axis];
          block.zones[axis] = own.count;
        }
        blocks.push_back(block);
      }
}

} // namespace sweep
