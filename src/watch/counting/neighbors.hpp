// The neighbours of a rank in a communicator with a topology.
#pragma once

#include "watch/counting/state.hpp"

#include <vector>

namespace haloscope::watch {

// The kind of topology: MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH, or MPI_UNDEFINED for none.
int topology_of(MPI_Comm comm);

// Copies ranks to the arena, and sets `count`. Returns nullptr, and the count 0, if the arena is full.
const std::int32_t *store_ranks(const std::vector<int> &ranks, std::uint32_t &count);

// Sets the sources and destinations of the record. A communicator without a topology has none.
void read_topology(MPI_Comm comm, Communicator &record);

} // namespace haloscope::watch
