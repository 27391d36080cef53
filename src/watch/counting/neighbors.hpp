// The neighbours of a rank in a communicator with a topology.
#pragma once

#include "watch/counting/state.hpp"

#include <vector>

namespace haloscope::watch {

bool has_topology(MPI_Comm comm);
// Of a communicator with a topology.
Neighbors read_neighbors(MPI_Comm comm);

// Copies ranks to the arena, and sets `count`. Returns nullptr, and the count 0, if the arena is full.
const std::int32_t *store_ranks(const std::vector<int> &ranks, std::uint32_t &count);

} // namespace haloscope::watch
