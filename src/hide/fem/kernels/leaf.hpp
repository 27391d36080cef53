// A leaf of the forest, in p8est's integer coordinates: a tree is 2^19 wide.
#pragma once

#include <cstdint>

namespace haloscope::fem {

inline constexpr int root_bits = 19;

struct Leaf {
  std::int32_t tree;
  std::int32_t x, y, z;
  std::int8_t level;
};

} // namespace haloscope::fem
