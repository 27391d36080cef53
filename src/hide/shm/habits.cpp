#include "hide/shm/habits.hpp"

#include <algorithm>
#include <bit>

namespace haloscope::shm {

namespace {

// Smaller chunks cost more to claim than a helper saves.
constexpr std::size_t worthwhile = std::size_t{64} << 10U;

std::size_t at_least(std::size_t chunk, std::size_t bytes) noexcept {
  return std::max(chunk, (bytes + most_chunks - 1) / most_chunks);
}

std::size_t divide(std::size_t bytes, std::size_t parts, std::size_t least) noexcept {
  constexpr std::size_t page = 4096;
  return at_least(std::max((bytes / parts + page - 1) / page * page, least), bytes);
}

// The ranks that copied the last message decide, as far as they are free now.
Plan plan_by_copiers(Habit &habit, std::size_t bytes, std::size_t sender, bool receiving) {
  constexpr std::uint16_t again = 64; // messages until all free ranks are asked again
  const std::size_t ranks = shm.node->ranks(), least = std::max(shm.options.chunk, worthwhile);
  const Plan alone{Protocol::get, bytes}, with_sender{Protocol::coop, divide(bytes, 4, least)};
  const bool asks = habit.uses % again == 0;
  const bool cooperates = habit.protocol == Protocol::coop && !receiving;
  if (!asks && habit.protocol != Protocol::steal) {
    habit.uses++;
    return cooperates ? with_sender : alone;
  }
  const HelperMask<> &free = shm.node->channels().free();
  // A sender that receives copies itself. Of two ranks, none sets its bit.
  const std::size_t others = ranks > 2 ? free.count(ranks, shm.node->me()) : receiving ? 0 : 1;
  if (others == 0) return cooperates ? with_sender : alone;
  const bool first = habit.uses++ == 0;
  const std::size_t copied = std::max<std::size_t>(habit.copiers, 2);
  const std::size_t copiers = asks ? 1 + others : std::min(1 + others, copied);
  const bool by_sender = copiers == 2 && !receiving && (ranks == 2 || free.has(sender));
  if (first) return {by_sender ? Protocol::coop : Protocol::steal, at_least(shm.options.chunk, bytes)};
  return by_sender ? with_sender : Plan{Protocol::steal, divide(bytes, 4 * copiers, least)};
}

} // namespace

Plan plan(Habit &habit, std::size_t bytes, std::size_t sender, bool receiving) {
  const std::size_t least = shm.options.chunk;
  switch (shm.options.protocol) {
  case Choice::get:
  case Choice::off:
    return {Protocol::get, bytes};
  case Choice::coop:
    return {Protocol::coop, divide(bytes, 4, least)};
  case Choice::steal:
    return {Protocol::steal, divide(bytes, 4 * std::size_t{habit.copiers}, least)};
  case Choice::fixed:
    return {Protocol::steal, at_least(least, bytes)};
  case Choice::dynamic:
    break;
  }
  return plan_by_copiers(habit, bytes, sender, receiving);
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
