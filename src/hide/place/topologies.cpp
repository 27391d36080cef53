#include "hide/place/topologies.hpp"

#include "hide/place/arrangement.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <numeric>
#include <string>

namespace haloscope::place {

namespace {

int size_of(MPI_Comm comm) {
  int size = 0;
  real.Comm_size(comm, &size);
  return size;
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  real.Comm_rank(comm, &rank);
  return rank;
}

bool is_ordinary(MPI_Comm comm) {
  int inter = 1;
  return comm != MPI_COMM_NULL && real.Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter == 0;
}

// What all ranks give, one after the other, and how much each gave.
struct Gathered {
  Ranks values, counts, first;
};
Gathered gather(MPI_Comm comm, const int *values, int count) {
  Gathered all;
  const auto size = static_cast<std::size_t>(size_of(comm));
  all.counts.resize(size);
  all.first.resize(size);
  real.Allgather(&count, 1, MPI_INT, all.counts.data(), 1, MPI_INT, comm);
  std::exclusive_scan(all.counts.begin(), all.counts.end(), all.first.begin(), 0);
  all.values.resize(static_cast<std::size_t>(all.first.back() + all.counts.back()) + 1);
  real.Allgatherv(values, count, MPI_INT, all.values.data(), all.counts.data(), all.first.data(), MPI_INT,
                  comm);
  return all;
}

// A topology may have fewer ranks than the communicator: the others stay behind them.
int rank_among(MPI_Comm comm, const Graph &graph, Ranks nodes, const Ranks &candidate) {
  const auto own = static_cast<std::size_t>(rank_of(comm));
  nodes.resize(graph.size());
  const Ranks vertices = arranged(graph, nodes, candidate);
  return own < vertices.size() ? vertices[own] : static_cast<int>(own);
}

bool are_ranks(const int *values, std::size_t count, int size) {
  return std::all_of(values, values + count, [&](int value) { return value >= 0 && value < size; });
}

// The library's word for "no weights", which all ranks say or none; Fortran has one of its own.
bool is_unweighted(const int *weights) noexcept {
#if defined(HALOSCOPE_ABI_MPICH)
  static const auto *pointer = static_cast<const int *const *>(dlsym(RTLD_DEFAULT, "MPI_UNWEIGHTED"));
  static const int *word = pointer == nullptr ? nullptr : *pointer;
#else
  static const int *word = MPI_UNWEIGHTED;
#endif
  static const void *const in_fortran[] = {
      dlsym(RTLD_DEFAULT, "mpi_fortran_unweighted"),
      dlsym(RTLD_DEFAULT, "mpi_fortran_unweighted_"),
      dlsym(RTLD_DEFAULT, "mpi_fortran_unweighted__"),
      dlsym(RTLD_DEFAULT, "MPI_FORTRAN_UNWEIGHTED"),
      dlsym(RTLD_DEFAULT, "__mpi_f08_link_constants_MOD_mpi_unweighted"),
  };
  const bool is_fortran = std::ranges::find(in_fortran, weights) != std::end(in_fortran);
  return weights != nullptr && (weights == word || is_fortran);
}

template <class Compute> int computed(MPI_Comm comm, Compute &&compute) noexcept try {
  return compute();
} catch (const std::exception &error) {
  interpose::complain(std::string{"a topology is not reordered: "} + error.what());
  return rank_of(comm);
}

} // namespace

Arranged::Arranged(MPI_Comm comm, int rank) noexcept : comm_(comm) {
  if (!is_ordinary(comm)) return;
  int moved = rank == rank_of(comm) ? 0 : 1;
  real.Allreduce(MPI_IN_PLACE, &moved, 1, MPI_INT, MPI_MAX, comm);
  if (moved == 0) return;
  MPI_Comm made = MPI_COMM_NULL;
  if (real.Comm_split(comm, 0, rank, &made) != MPI_SUCCESS) return;
  comm_ = made;
  made_ = true;
}

Arranged::~Arranged() {
  if (made_) real.Comm_free(&comm_);
}

int rank_in_grid(MPI_Comm comm, std::span<const int> dims, const int *periods) noexcept {
  return computed(comm, [&] {
    long long size = 1;
    for (const int extent : dims) size = extent < 1 ? 0 : size * extent;
    if (!is_ordinary(comm) || dims.empty() || size < 2 || size > size_of(comm)) return rank_of(comm);
    const Graph graph = grid(dims, {periods, dims.size()});
    Ranks nodes = nodes_of(comm);
    nodes.resize(graph.size());
    const auto members = by_node(nodes);
    const std::size_t ranks = members.front().size();
    const bool alike = std::ranges::all_of(members, [&](const Ranks &one) { return one.size() == ranks; });
    return rank_among(comm, graph, nodes, alike ? boxes(graph, dims, ranks) : Ranks{});
  });
}

int rank_in_graph(MPI_Comm comm, int vertices, const int *index, const int *edges) noexcept {
  return computed(comm, [&] {
    if (!is_ordinary(comm) || vertices < 2 || vertices > size_of(comm)) return rank_of(comm);
    if (!std::is_sorted(index, index + vertices) || index[0] < 0) return rank_of(comm);
    if (!are_ranks(edges, static_cast<std::size_t>(index[vertices - 1]), vertices)) return rank_of(comm);
    Graph graph{static_cast<std::size_t>(vertices)};
    for (int vertex = 0, edge = 0; vertex < vertices; vertex++)
      for (; edge < index[vertex]; edge++) graph.join(vertex, edges[edge]);
    return rank_among(comm, graph, nodes_of(comm), {});
  });
}

int rank_in_distributed_graph(MPI_Comm comm, int count, const int *sources, const int *degrees,
                              const int *destinations) noexcept {
  return computed(comm, [&] {
    if (!is_ordinary(comm)) return 0;
    Ranks pairs;
    for (int i = 0, edge = 0; i < count; i++)
      for (int j = 0; j < degrees[i]; j++, edge++)
        pairs.insert(pairs.end(), {sources[i], destinations[edge]});
    const int size = size_of(comm);
    const Gathered all = gather(comm, pairs.data(), static_cast<int>(pairs.size()));
    const std::size_t ends = all.values.size() - 1;
    if (!are_ranks(all.values.data(), ends, size)) return rank_of(comm);
    Graph graph{static_cast<std::size_t>(size)};
    for (std::size_t i = 0; i < ends; i += 2) graph.join(all.values[i], all.values[i + 1]);
    return rank_among(comm, graph, nodes_of(comm), {});
  });
}

Handed::Handed(MPI_Comm comm, int rank, const Neighbours &given) : now_(given) {
  const auto from = static_cast<std::size_t>(rank);
  const auto take = [&](const int *values, int count, std::vector<int> &kept) {
    const Gathered all = gather(comm, values, count);
    const auto first = all.values.begin() + all.first[from];
    kept.assign(first, first + all.counts[from]);
    kept.reserve(1); // never without an address
    return kept.data();
  };
  const auto take_weights = [&](const int *values, int count, std::vector<int> &kept) {
    return is_unweighted(values) ? values : take(values, count, kept);
  };
  now_.sources = take(given.sources, given.in_degree, sources_);
  now_.destinations = take(given.destinations, given.out_degree, destinations_);
  now_.source_weights = take_weights(given.source_weights, given.in_degree, source_weights_);
  now_.destination_weights = take_weights(given.destination_weights, given.out_degree, destination_weights_);
  now_.in_degree = static_cast<int>(sources_.size());
  now_.out_degree = static_cast<int>(destinations_.size());
}

} // namespace haloscope::place
