// Carries the messages of some edges over MPI, in one of its ways.
#pragma once

#include "hide/halo/topology.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace haloscope::halo {

enum class Way : std::uint8_t { nonblocking, persistent, partitioned, neighbourhood };

const char *name(Way way) noexcept;
// Returns the ways that this MPI has for these edges, the same on all ranks. Collective. Neighbourhood
// collectives need the same number of sends and receives on each rank: otherwise MPICH 4.0 reads beyond its
// own copies of the counts.
std::vector<Way> ways(MPI_Comm comm, const Edges &edges);

// The data of an edge.
struct Message {
  Edge edge;
  std::byte *data;
};

class Carrier {
public:
  // Collective, also for ranks without any message.
  static std::unique_ptr<Carrier> make(Way way, MPI_Comm comm, const std::vector<Message> &sends,
                                       const std::vector<Message> &receives);
  Carrier() = default;
  Carrier(const Carrier &) = delete;
  Carrier &operator=(const Carrier &) = delete;
  virtual ~Carrier() = default;

  virtual void start() = 0;
  virtual bool test();
  void finish();

protected:
  std::vector<MPI_Request> requests_; // NOLINT(*-non-private-member-variables-in-classes): they fill it
};

} // namespace haloscope::halo
