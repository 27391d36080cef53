// Topologies that a program lets MPI reorder (reorder = true): their ranks are arranged for the nodes.
#pragma once

#include "hide/place/placement.hpp"

#include <span>

namespace haloscope::place {

// The communicator that a topology is made of: with its ranks in another order, else the program's own.
class Arranged {
public:
  Arranged(MPI_Comm comm, int rank) noexcept;
  ~Arranged();
  Arranged(const Arranged &) = delete;
  Arranged &operator=(const Arranged &) = delete;
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] bool is_new() const noexcept { return made_; }

private:
  MPI_Comm comm_;
  bool made_ = false;
};

// Return this process's rank in the order that suits the nodes; its own where that is no better, or where the
// arguments make no sense, which MPI shall say. All ranks of the communicator must come.
int rank_in_grid(MPI_Comm comm, std::span<const int> dims, const int *periods) noexcept;
int rank_in_graph(MPI_Comm comm, int vertices, const int *index, const int *edges) noexcept;
int rank_in_distributed_graph(MPI_Comm comm, int count, const int *sources, const int *degrees,
                              const int *destinations) noexcept;

// What one rank says in MPI_Dist_graph_create_adjacent.
struct Neighbours {
  int in_degree;
  const int *sources, *source_weights;
  int out_degree;
  const int *destinations, *destination_weights;
};

// The neighbours that the process with a new rank has to name: those of that rank before.
class Handed {
public:
  // `rank` is this process's new one. All ranks of `comm`, the program's communicator, must come.
  Handed(MPI_Comm comm, int rank, const Neighbours &given);
  [[nodiscard]] const Neighbours &neighbours() const noexcept { return now_; }

private:
  std::vector<int> sources_, source_weights_, destinations_, destination_weights_;
  Neighbours now_;
};

} // namespace haloscope::place
