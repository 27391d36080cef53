// What the generated wrappers of the functions do in which more happens than a substitution; meanings.py
// names them. A call gets what MPI's function shall get in place of the program's arguments.
#pragma once

#include "hide/place/topologies.hpp"

#include <algorithm>
#include <iterator>

namespace haloscope::place {

template <class Call> int as_it_is(Call &&call) { return call(); }

template <class Call> int initialise(Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS && interpose::library_fits()) begin_world();
  return result;
}

// What a library says of itself hangs on its own MPI_COMM_WORLD alone.
template <class Call> int get_attribute(MPI_Comm comm, int keyval, Call &&call) {
  static constexpr int predefined[] = {MPI_TAG_UB,        MPI_HOST,   MPI_IO,          MPI_WTIME_IS_GLOBAL,
                                       MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE};
  const bool is_predefined = std::ranges::find(predefined, keyval) != std::end(predefined);
  return call(is_predefined ? comm : actual(comm));
}

// Errors that belong to no communicator go to the handler of the library's own.
template <class Call> int set_error_handler(MPI_Comm comm, Call &&call) {
  const int result = call(actual(comm));
  return actual(comm) == comm || result != MPI_SUCCESS ? result : call(comm);
}

template <class Call>
int create_grid(MPI_Comm comm, int dimensions, const int *dims, const int *periods, int reorder,
                Call &&call) {
  const MPI_Comm old = actual(comm);
  if (reorder == 0 || dimensions < 1) return call(old, reorder);
  const Arranged arranged{old, rank_in_grid(old, {dims, static_cast<std::size_t>(dimensions)}, periods)};
  return call(arranged.comm(), 0);
}

template <class Call>
int create_graph(MPI_Comm comm, int vertices, const int *index, const int *edges, int reorder, Call &&call) {
  const MPI_Comm old = actual(comm);
  if (reorder == 0) return call(old, reorder);
  const Arranged arranged{old, rank_in_graph(old, vertices, index, edges)};
  return call(arranged.comm(), 0);
}

// Who names an edge does not matter: the numbers in it are those of the new order.
template <class Call>
int create_distributed_graph(MPI_Comm comm, int count, const int *sources, const int *degrees,
                             const int *destinations, int reorder, Call &&call) {
  const MPI_Comm old = actual(comm);
  if (reorder == 0) return call(old, reorder);
  const Arranged arranged{old, rank_in_distributed_graph(old, count, sources, degrees, destinations)};
  return call(arranged.comm(), 0);
}

// Each rank names its own neighbours, which are now those of another process.
template <class Call>
int create_adjacent_graph(MPI_Comm comm, int in_degree, const int *sources, const int *source_weights,
                          int out_degree, const int *destinations, const int *destination_weights,
                          int reorder, Call &&call) {
  const MPI_Comm old = actual(comm);
  const auto as_given = [&](int still) {
    return call(old, in_degree, sources, source_weights, out_degree, destinations, destination_weights,
                still);
  };
  if (reorder == 0 || in_degree < 0 || out_degree < 0) return as_given(reorder);
  int own = 0;
  real.Comm_rank(old, &own);
  const int rank = rank_in_distributed_graph(old, 1, &own, &out_degree, destinations);
  const Arranged arranged{old, rank};
  if (!arranged.is_new()) return as_given(0);
  const Handed handed{
      old, rank, {in_degree, sources, source_weights, out_degree, destinations, destination_weights}};
  const Neighbours &now = handed.neighbours();
  return call(arranged.comm(), now.in_degree, now.sources, now.source_weights, now.out_degree,
              now.destinations, now.destination_weights, 0);
}

} // namespace haloscope::place
