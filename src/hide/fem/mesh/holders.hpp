// Which coarse element computes a fine node: one of all ranks'.
#pragma once

#include "hide/fem/mesh/hierarchy.hpp"
#include "hide/fem/mesh/patches.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem {

// The owner's first that has the node where nothing hangs. Where the owner sees it on hanging sides alone,
// the owner asks the first neighbour that has it otherwise: that node is rescued.
struct Holders {
  std::vector<std::int32_t>
      of;        // local fine nodes: an element of this rank's, or −1; a ghost's if its owner asks
  Links rescued; // `send`: owned nodes that I ask for; `receive`: ghosts that I compute
};

// Both are collective.
[[nodiscard]] Holders find_holders(const Level &fine, const Level &coarse);
// One a coarse element. Targets that are ghosts are counted from owned() on in the order of `rescued`.
[[nodiscard]] std::vector<Patch> patches(const Level &fine, const Level &coarse, const Holders &holders,
                                         std::span<const std::uint8_t> fine_masked);

} // namespace haloscope::fem
