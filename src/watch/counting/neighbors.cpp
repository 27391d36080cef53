#include "watch/counting/neighbors.hpp"

#include <algorithm>

namespace haloscope::watch {

namespace {

using Ranks = std::vector<int>;

// In the order of the neighbourhood collectives' arguments (MPI 4.1, section 8.6).
Ranks grid_neighbors(MPI_Comm comm) {
  int dimensions = 0;
  real.Cartdim_get(comm, &dimensions);
  Ranks ranks(2 * static_cast<std::size_t>(dimensions));
  for (int d = 0; d < dimensions; d++)
    real.Cart_shift(comm, d, 1, &ranks[2 * static_cast<std::size_t>(d)],
                    &ranks[2 * static_cast<std::size_t>(d) + 1]);
  return ranks;
}

Ranks graph_neighbors(MPI_Comm comm) {
  int rank = 0;
  int count = 0;
  real.Comm_rank(comm, &rank);
  real.Graph_neighbors_count(comm, rank, &count);
  Ranks ranks(static_cast<std::size_t>(count));
  real.Graph_neighbors(comm, rank, count, ranks.data());
  return ranks;
}

void distributed_graph_neighbors(MPI_Comm comm, Ranks &sources, Ranks &destinations) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  real.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  sources.resize(static_cast<std::size_t>(in));
  destinations.resize(static_cast<std::size_t>(out));
  Ranks in_weights(sources.size());
  Ranks out_weights(destinations.size());
  real.Dist_graph_neighbors(comm, in, sources.data(), in_weights.data(), out, destinations.data(),
                            out_weights.data());
}

// The kind of topology: MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH, or MPI_UNDEFINED for none. SMPI has no
// neighbourhood collectives, and no MPI_Topo_test.
int topology_of([[maybe_unused]] MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
#if !defined(HALOSCOPE_ABI_SIMGRID)
  real.Topo_test(comm, &kind);
#endif
  return kind;
}

} // namespace

bool has_topology(MPI_Comm comm) { return topology_of(comm) != MPI_UNDEFINED; }

const std::int32_t *store_ranks(const std::vector<int> &ranks, std::uint32_t &count) {
  auto *copy =
      static_cast<std::int32_t *>(global().arena.allocate((ranks.size() + 1) * sizeof(std::int32_t)));
  count = copy == nullptr ? 0 : static_cast<std::uint32_t>(ranks.size());
  if (copy != nullptr) std::ranges::copy(ranks, copy);
  return copy;
}

Neighbors read_neighbors(MPI_Comm comm) {
  const int kind = topology_of(comm);
  Neighbors found;
  if (kind == MPI_CART)
    found.sources = found.destinations = grid_neighbors(comm);
  else if (kind == MPI_GRAPH)
    found.sources = found.destinations = graph_neighbors(comm);
  else if (kind == MPI_DIST_GRAPH)
    distributed_graph_neighbors(comm, found.sources, found.destinations);
  return found;
}

} // namespace haloscope::watch
