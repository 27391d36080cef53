#include "hide/inject/injection.hpp"

#include <vector>

namespace haloscope::inject {

// The ranks whose data a rank gets in a neighbourhood collective.

namespace {

using Ranks = std::vector<int>;

Ranks room(int count) { return Ranks(static_cast<std::size_t>(count)); }

Ranks in_grid(MPI_Comm comm) {
  int dimensions = 0;
  real.Cartdim_get(comm, &dimensions);
  Ranks result = room(2 * dimensions);
  int *place = result.data();
  for (int i = 0; i < dimensions; i++, place += 2) real.Cart_shift(comm, i, 1, place, place + 1);
  return result;
}

Ranks in_graph(MPI_Comm comm, int rank) {
  int count = 0;
  real.Graph_neighbors_count(comm, rank, &count);
  Ranks result = room(count);
  real.Graph_neighbors(comm, rank, count, result.data());
  return result;
}

Ranks in_distributed_graph(MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  real.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  Ranks result = room(in), targets = room(out), weights = room(in), others = room(out);
  real.Dist_graph_neighbors(comm, in, result.data(), weights.data(), out, targets.data(), others.data());
  return result;
}

Ranks sources(MPI_Comm comm, int rank) {
  int topology = MPI_UNDEFINED;
  real.Topo_test(comm, &topology);
  if (topology == MPI_CART) return in_grid(comm);
  if (topology == MPI_GRAPH) return in_graph(comm, rank);
  return topology == MPI_DIST_GRAPH ? in_distributed_graph(comm) : Ranks{};
}

} // namespace

std::optional<Link> link_from_neighbors(MPI_Comm comm, const Communicator &communicator) {
  std::optional<Link> result;
  for (const int source : sources(comm, communicator.rank)) {
    if (!reaches(&communicator, source)) continue;
    if (link_to(communicator, source) == Link::inter) return Link::inter;
    result = Link::intra;
  }
  return result;
}

} // namespace haloscope::inject
