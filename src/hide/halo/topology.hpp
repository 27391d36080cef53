// The edges between ranks that exchange, and agreement among the ranks of a communicator. An error on one
// rank becomes known to all: each throws the same line, and none keeps waiting.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace haloscope::halo {

// Thrown on all ranks of a communicator.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// MPI's own error, where the communicator returns errors. Thrown where it happened.
struct Failed : std::runtime_error {
  explicit Failed(int error) : std::runtime_error("MPI failed"), code(error) {}
  int code;
};

inline void check(int error) {
  if (error != MPI_SUCCESS) throw Failed{error};
}

// Collective. If any rank passes a complaint, all throw the one of the lowest such rank, with its number.
void agree(MPI_Comm comm, const std::string &mine);

// Collective. Returns true if `mine` is true on all ranks.
inline bool all_of(MPI_Comm comm, bool mine) {
  int here = mine ? 1 : 0, everywhere = 0;
  check(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm));
  return everywhere != 0;
}

// A communicator of our own.
class Communicator {
public:
  Communicator() = default;
  explicit Communicator(MPI_Comm made) : comm_(made) {}
  Communicator(Communicator &&other) noexcept : comm_(other.comm_) { other.comm_ = MPI_COMM_NULL; }
  Communicator &operator=(Communicator &&other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;
  ~Communicator() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }
  [[nodiscard]] int rank() const {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }
  [[nodiscard]] int size() const {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    return size;
  }

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Who exchanges with whom: the edges of a communicator's topology.

// Several edges from one rank to the same other rank have numbers, in an order that both ranks know.
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

// Collective. Throws Refused if the communicator `topology` has no topology, or the two ends of an edge
// disagree. `comm` has the same ranks.
Edges read_edges(MPI_Comm topology, MPI_Comm comm, const std::size_t *send_bytes,
                 const std::size_t *receive_bytes);

} // namespace haloscope::halo
