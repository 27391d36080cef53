// The calls that are remembered, as a view has them: all at once for a search, or one by one as they come.
#pragma once

#include "watch/phases/phases.hpp"

#include <vector>

namespace haloscope::watch {

// A bit of Call::what. The lowest bits are those of the bytes of all collectives so far.
inline constexpr std::uint32_t is_a_collective = std::uint32_t{1} << 31U;

inline std::uint16_t symbol_of(const Phases::Call &call) noexcept {
  return call_symbol(call.function, call.from);
}

// The remembered calls, the oldest first.
std::vector<Seen> seen_calls(const Phases &phases);

// The symbols since the last end, and when to give up waiting for the next.
void follow(Phases &phases) noexcept;

// The symbol, if any, that the newest call adds in a view that is not that of the calls. Where an iteration
// ends with it, `functions` is a form of it; is_late: it ended with the call before.
void look_at_newest(Phases &phases) noexcept;

// The number of calls at which an iteration should have ended.
std::uint64_t latest_end(const Phases &phases) noexcept;

} // namespace haloscope::watch
