#include "hide/halo/topology.hpp"

#include <algorithm>
#include <climits>
#include <map>

namespace haloscope::halo {

void agree(MPI_Comm comm, const std::string &mine) {
  int rank = 0, size = 0, first = 0;
  check(MPI_Comm_rank(comm, &rank));
  check(MPI_Comm_size(comm, &size));
  const int speaks = mine.empty() ? size : rank;
  check(MPI_Allreduce(&speaks, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == size) return;
  int length = static_cast<int>(mine.size());
  check(MPI_Bcast(&length, 1, MPI_INT, first, comm));
  std::string text = mine;
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, first, comm));
  throw Refused{"halo: rank " + std::to_string(first) + ": " + text};
}

namespace {

// Neighbours in the order in which edges between the same two ranks are counted.
struct Neighbours {
  std::vector<int> destinations, sources; // ranks, or MPI_PROC_NULL
  std::vector<int> order;                 // in which sources are counted
};

// A message to one side comes from the opposite side at the receiver. With one or two ranks around a ring,
// both sides are the same rank.
Neighbours cartesian(MPI_Comm comm) {
  Neighbours found;
  int dimensions = 0;
  check(MPI_Cartdim_get(comm, &dimensions));
  for (int i = 0; i < dimensions; i++) {
    int below = 0, above = 0;
    check(MPI_Cart_shift(comm, i, 1, &below, &above));
    found.destinations.insert(found.destinations.end(), {below, above});
    found.order.insert(found.order.end(), {2 * i + 1, 2 * i});
  }
  found.sources = found.destinations;
  return found;
}

Neighbours graph(MPI_Comm comm, int kind, int rank) {
  Neighbours found;
  int sources = 0, destinations = 0, weighted = 0;
  if (kind == MPI_GRAPH) {
    check(MPI_Graph_neighbors_count(comm, rank, &destinations));
    found.destinations.resize(static_cast<std::size_t>(destinations));
    check(MPI_Graph_neighbors(comm, rank, destinations, found.destinations.data()));
    found.sources = found.destinations;
  } else {
    check(MPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted));
    found.sources.resize(static_cast<std::size_t>(sources));
    found.destinations.resize(static_cast<std::size_t>(destinations));
    std::vector<int> weights(static_cast<std::size_t>(std::max(sources, destinations)));
    check(MPI_Dist_graph_neighbors(comm, sources, found.sources.data(), weights.data(), destinations,
                                   found.destinations.data(), weights.data()));
  }
  for (std::size_t i = 0; i < found.sources.size(); i++) found.order.push_back(static_cast<int>(i));
  return found;
}

Neighbours neighbours(MPI_Comm topology, MPI_Comm comm) {
  int kind = MPI_UNDEFINED, rank = 0;
  check(MPI_Topo_test(topology, &kind));
  check(MPI_Comm_rank(comm, &rank));
  agree(comm, kind == MPI_UNDEFINED ? "the communicator has no topology: make one with MPI_Cart_create or "
                                      "MPI_Dist_graph_create_adjacent"
                                    : "");
  return kind == MPI_CART ? cartesian(topology) : graph(topology, kind, rank);
}

// Returns the error in the sizes, or an empty string.
std::string wrong(const char *what, const std::vector<int> &ranks, const std::size_t *bytes) {
  for (std::size_t i = 0; i < ranks.size(); i++) {
    if (ranks[i] == MPI_PROC_NULL) continue;
    const std::string which = std::string{what} + std::to_string(i);
    if (bytes == nullptr) return which + ": no sizes were given";
    if (bytes[i] > INT_MAX)
      return which + ": " + std::to_string(bytes[i]) + " bytes: at most " + std::to_string(INT_MAX) +
             " are possible, so divide the halo among more ranks";
  }
  return {};
}

using Told = std::vector<unsigned long long>; // the sizes of the edges from one rank, in their order

// Sends each neighbour the sizes of its messages, and returns the sizes from the ranks that send to this one.
// It ends even if the lists of two ranks disagree, because no rank waits for a particular rank (after
// Hoefler, Siebert and Lumsdaine).
std::map<int, Told> tell(MPI_Comm comm, const std::map<int, Told> &sizes) {
  std::vector<MPI_Request> requests;
  for (const auto &[rank, told] : sizes) {
    requests.push_back(MPI_REQUEST_NULL);
    check(MPI_Issend(told.data(), static_cast<int>(told.size()), MPI_UNSIGNED_LONG_LONG, rank, 0, comm,
                     &requests.back()));
  }
  std::map<int, Told> heard;
  MPI_Request barrier = MPI_REQUEST_NULL;
  for (bool last = false, over = false; !over;) {
    int is_there = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &is_there, &status));
    if (is_there != 0) {
      int count = 0;
      check(MPI_Get_count(&status, MPI_UNSIGNED_LONG_LONG, &count));
      Told told(static_cast<std::size_t>(count));
      check(MPI_Recv(told.data(), count, MPI_UNSIGNED_LONG_LONG, status.MPI_SOURCE, 0, comm,
                     MPI_STATUS_IGNORE));
      heard[status.MPI_SOURCE] = std::move(told);
    }
    int done = 0;
    if (last) {
      check(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE));
      over = done != 0;
    } else {
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
      if (done != 0) check(MPI_Ibarrier(comm, &barrier));
      last = done != 0;
    }
  }
  return heard;
}

std::string differs(const std::map<int, Told> &heard, const std::map<int, Told> &expected) {
  const auto count = [](const std::map<int, Told> &all, int rank) {
    const auto found = all.find(rank);
    return found == all.end() ? std::size_t{0} : found->second.size();
  };
  for (const auto *side : {&heard, &expected})
    for (const auto &[rank, _] : *side) {
      const std::size_t sent = count(heard, rank), wanted = count(expected, rank);
      if (sent != wanted)
        return "receives from rank " + std::to_string(rank) + " by " + std::to_string(wanted) +
               " edges of the topology, but that rank sends by " + std::to_string(sent);
      for (std::size_t i = 0; i < sent; i++)
        if (heard.at(rank)[i] != expected.at(rank)[i])
          return "expects " + std::to_string(expected.at(rank)[i]) + " bytes from rank " +
                 std::to_string(rank) + ", which sends " + std::to_string(heard.at(rank)[i]);
    }
  return {};
}

} // namespace

Edges read_edges(MPI_Comm topology, MPI_Comm comm, const std::size_t *send_bytes,
                 const std::size_t *receive_bytes) {
  const Neighbours found = neighbours(topology, comm);
  std::string problem = wrong("destination ", found.destinations, send_bytes);
  if (problem.empty()) problem = wrong("source ", found.sources, receive_bytes);
  agree(comm, problem);
  Edges edges;
  edges.send_count = static_cast<int>(found.destinations.size());
  edges.receive_count = static_cast<int>(found.sources.size());
  std::map<int, Told> sends, receives;
  const auto add = [](std::vector<Edge> &side, std::map<int, Told> &sizes, int neighbour, int rank,
                      const std::size_t *bytes) {
    if (rank == MPI_PROC_NULL) return;
    Told &told = sizes[rank];
    const std::size_t size = bytes[neighbour];
    if (size > 0) side.push_back({neighbour, rank, static_cast<int>(told.size()), size});
    told.push_back(size);
  };
  for (int i = 0; i < edges.send_count; i++)
    add(edges.sends, sends, i, found.destinations[static_cast<std::size_t>(i)], send_bytes);
  for (const int i : found.order)
    add(edges.receives, receives, i, found.sources[static_cast<std::size_t>(i)], receive_bytes);
  agree(comm, differs(tell(comm, sends), receives));
  return edges;
}

} // namespace haloscope::halo
