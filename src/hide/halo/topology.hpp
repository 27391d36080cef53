// Who exchanges with whom: the edges of a communicator's topology.
#pragma once

#include "hide/halo/agree.hpp"

#include <cstddef>
#include <vector>

namespace haloscope::stencil {

// Between the same two ranks the edges of one direction are told apart by a number, in an order that both
// know.
struct Edge {
  int neighbour; // index among those of this side
  int rank;      // the other one
  int number;
  std::size_t bytes;
};

struct Edges {
  std::vector<Edge> sends, receives; // those that carry anything
  int send_count = 0, receive_count = 0;

  [[nodiscard]] bool any() const noexcept { return !sends.empty() || !receives.empty(); }
};

// Collective. Throws Refused where the topology's communicator has none, or both ends of an edge disagree.
// The other communicator has the same ranks.
Edges read_edges(MPI_Comm topology, MPI_Comm comm, const std::size_t *send_bytes,
                 const std::size_t *receive_bytes);

} // namespace haloscope::stencil
