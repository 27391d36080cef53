#include "hide/shm/habits.hpp"

#include <algorithm>
#include <bit>

namespace haloscope::shm {

namespace {

std::size_t divide(std::size_t bytes, std::size_t parts) noexcept {
  constexpr std::size_t page = 4096;
  const std::size_t chunk = (bytes / parts + page - 1) / page * page;
  return std::max({chunk, shm.options.chunk, (bytes + most_chunks - 1) / most_chunks});
}

} // namespace

Plan plan(Habit &habit, std::size_t bytes, bool receiving) {
  constexpr std::uint16_t again = 64; // now and then it is looked whether somebody would help
  const std::size_t fixed = std::max(shm.options.chunk, (bytes + most_chunks - 1) / most_chunks);
  switch (shm.options.protocol) {
  case Choice::get:
  case Choice::off:
    return {Protocol::get, bytes};
  case Choice::coop:
    return {Protocol::coop, divide(bytes, 4)};
  case Choice::steal:
    return {Protocol::steal, divide(bytes, 4 * std::size_t{habit.copiers})};
  case Choice::fixed:
    return {Protocol::steal, fixed};
  case Choice::dynamic:
    break;
  }
  const bool alone = shm.node->ranks() == 2;
  if (alone && receiving) return {Protocol::get, bytes}; // both cores copy already
  if (habit.uses++ % again == 0) return {alone ? Protocol::coop : Protocol::steal, fixed};
  if (habit.protocol == Protocol::coop && !receiving) return {Protocol::coop, divide(bytes, 4)};
  if (habit.protocol == Protocol::steal && shm.node->channels().free().any(shm.node->ranks()))
    return {Protocol::steal, divide(bytes, 4 * std::size_t{habit.copiers})};
  return {Protocol::get, bytes};
}

// The next protocol is that which the number of copiers asks for, twice in a row.
void learn(Habit &habit, std::uint64_t helpers, std::size_t sender) {
  constexpr std::uint8_t enough = 2;
  const int copiers = std::popcount(helpers);
  const bool by_sender = (helpers >> sender % 64 & 1U) != 0;
  const Protocol right = copiers <= 1                ? Protocol::get
                         : copiers == 2 && by_sender ? Protocol::coop
                                                     : Protocol::steal;
  habit.copiers = static_cast<std::uint8_t>(std::max(copiers, 1));
  if (right == habit.protocol) {
    habit.agreed = 0;
    return;
  }
  habit.agreed = right == habit.other ? static_cast<std::uint8_t>(habit.agreed + 1) : std::uint8_t{1};
  habit.other = right;
  if (habit.agreed >= enough || habit.uses <= 1) {
    habit.protocol = right;
    habit.agreed = 0;
  }
}

bool comes_late(Peer &peer) noexcept {
  if (peer.left_alone == 0) return false;
  peer.left_alone--;
  return true;
}

void note_outcome(Peer &peer, bool escaped) noexcept {
  constexpr std::uint32_t looked_at = 0xFF, first = 64, most = 4096;
  constexpr int too_many = 4;
  peer.outcomes = peer.outcomes << 1U | (escaped ? 1U : 0U);
  if (!escaped) {
    if (std::popcount(peer.outcomes & looked_at) == 0) peer.pause = 0;
    return;
  }
  // Without patience, the sender waits for no receiver.
  if (shm.options.patience == 0 || std::popcount(peer.outcomes & looked_at) <= too_many) return;
  peer.pause = std::clamp(2 * peer.pause, first, most);
  peer.left_alone = peer.pause;
  peer.outcomes = 0b111; // two more, and it is left alone again
}

} // namespace haloscope::shm
