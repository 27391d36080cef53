// Data between nodes that is sent ahead of its receive, if the program leaves receive buffers to the shm
// library.
//
// A *lane* is a channel from one rank to a rank on a different node. It ends in a buffer of the shm library,
// for which a receive is always posted. A message through a lane consists of a note of its length, the data
// in pieces, and a token. Note and pieces use a communicator of the library. The token is in the program's
// communicator, where MPI matches it. The pieces are so small that MPI sends them without asking the receiver
// first. docs/explanation/shm.md explains how a lane is made, and why probes give correct results.
#pragma once

#include "hide/shm/known_requests.hpp"
#include "hide/shm/sending.hpp"

#include <optional>

namespace haloscope::shm {

// Both are collective over MPI_COMM_WORLD. `usable`: this rank's shm library runs. close_lanes is called
// before MPI_Finalize.
void open_lanes(bool usable);
void close_lanes();

// Returns the world rank of a rank of another node, to which there may be lanes; −1 for any other.
int elsewhere(MPI_Comm comm, int rank);

// The sender: a message that has begun, or nullptr where there is no lane for it.
Source *send_ahead(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                   const Envelope &envelope);
bool has_left(Source &source); // the program may have its buffer back
// A message of the program that is as long as this slot's token goes to another node.
void spoil_lane(std::size_t slot, const Envelope &envelope);

// The receiver. A message came by no lane: there may be one for the next.
void offer_lane(int source, std::uint64_t bytes);
// The true size of what a probe found, if that is a token.
std::optional<std::uint64_t> noted_bytes(int source, std::size_t slot);
Lane *lane_of(const Token &token);
bool has_landed(Lane &lane);
void wait_until_landed(Lane &lane);
// A message that has arrived. The buffer is the caller's until `renew`.
struct Landed {
  int source;
  void *buffer;
  std::uint64_t bytes;
};
Landed landed(const Lane &lane);
// The lane continues with this buffer. If it is null, the lane gets a new one.
void renew(Lane &lane, void *buffer);

} // namespace haloscope::shm
