// Whether the shm library or MPI is faster with the messages of a pair. In a trial, messages alternate. All
// others go by the faster way. The sender decides per message and its receiver accepts either, so no
// agreement is needed.
//
// The time of a message has two parts: the time of its sender in the call that posts it, and the time until
// its data has arrived. The second part begins after that call, or when its receiver looks for the message.
// The receiver reports it to the sender.
#pragma once

#include "hide/shm/known_requests.hpp"

namespace haloscope::shm {

enum class Way : std::uint8_t { shm, mpi };
struct Trial; // of messages to a rank that have about a size, and holes or none

struct Turn {
  Way way = Way::shm;
  bool decided = false;   // it is what was faster
  Trial *trial = nullptr; // it is to be timed
};
Turn next_turn(std::size_t peer, std::uint64_t bytes, bool has_holes);

// The sender: MPI is about to be given a message, and has been given it.
void announce(Trial &trial, std::size_t peer, int tag, std::uint64_t bytes);
bool is_announced() noexcept; // this thread's next one
void announced_is_posted() noexcept;
struct Posting {
  Moment begun, posted;
};
void add_time(Trial &trial, Way way, const Posting &posting, const Arrival &arrival);

// The receiver: MPI has brought a large message.
void answer(MPI_Comm comm, const MPI_Status &status, std::uint64_t bytes, const Arrival &arrival);

} // namespace haloscope::shm
