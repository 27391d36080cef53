// How the next message of a partner is copied, by the latest ones: how many ranks took part, and whether the
// receiver came late.
#pragma once

#include "hide/shm/copying.hpp"

namespace haloscope::shm {

// The latest observation of a partner's messages of a size class.
struct Habit {
  Protocol protocol = Protocol::get, other = Protocol::get;
  std::uint8_t agreed = 0; // how often running `other` would have been right
  std::uint8_t copiers = 1;
  std::uint16_t uses = 0; // messages with which others could have helped
};

struct Plan {
  Protocol protocol;
  std::size_t chunk;
};

// `receiving`: the sender is itself to receive something.
Plan plan(Habit &habit, std::size_t bytes, std::size_t sender, bool receiving);
// After a copy in which these ranks took part, a bit for each.
void learn(Habit &habit, std::uint64_t helpers, std::size_t sender);

// Receivers that are late repeatedly: MPI sends their messages for a while, each time for twice the number of
// messages.
bool comes_late(Peer &peer) noexcept;
// `escaped`: the message waited in the pool, because the receiver was late.
void note_outcome(Peer &peer, bool escaped) noexcept;

} // namespace haloscope::shm
