// Whether the layer or MPI is faster with the messages of a pair: some go by turns, the others by what was.
//
// The sender decides for each message, and its receiver takes either, so nothing has to be agreed on. The
// receiver says how long each took, by the clock that the ranks of a node have in common: from when it was
// sent and waited for to when its data was there.
#pragma once

#include "hide/layer/known_requests.hpp"

namespace haloscope::layer {

enum class Way : std::uint8_t { layer, mpi };
struct Trial; // of messages to a rank that have about a size, and holes or none

struct Turn {
  Way way = Way::layer;
  bool decided = false;   // it is what was faster
  Trial *trial = nullptr; // it is to be timed
};
Turn next_turn(std::size_t peer, std::uint64_t bytes, bool has_holes);

// The sender: a message that MPI carries from now on.
void announce(Trial &trial, std::size_t peer, int tag, std::uint64_t bytes);
// A message took so many nanoseconds; 0: nobody knows.
void add_time(Trial &trial, Way way, std::uint64_t took);

// The receiver: since it was sent, and waited for. 0 if one of both is not known.
std::uint64_t time_since(std::uint64_t sent, Moment asked) noexcept;
// MPI has brought a large message.
void answer(MPI_Comm comm, const MPI_Status &status, std::uint64_t bytes, Moment asked);

} // namespace haloscope::layer
