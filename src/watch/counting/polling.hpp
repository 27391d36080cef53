// The time of polls: calls that look whether something is complete or there.
//
// Budget of a poll without a stamp: a comparison and a decrement. One in 48 polls has one.
#pragma once

#include "watch/counting/noting.hpp"
#include "watch/counting/state.hpp"

namespace haloscope::watch {

// The tick at which a poll begins; 0 if it is not stamped.
[[gnu::always_inline]] inline std::uint64_t begin_poll(const Recorder &state) noexcept {
  return state.polling.is_stamped() ? ticks() : 0;
}

// Adds the time of a stamped poll that ends now.
[[gnu::noinline]] void end_poll(ThreadState &state, Function function, std::uint64_t begin, bool found,
                                std::uint64_t bytes) noexcept;

// After a poll that was successful, with the tick of begin_poll.
[[gnu::always_inline]] inline void count_poll(ThreadState &state, Function function, std::uint64_t begin,
                                              bool found, std::uint64_t bytes = 0) noexcept {
  if (!found) state.node->polls++;
  if (__builtin_expect(begin != 0, 0))
    end_poll(state, function, begin, found, bytes);
  else
    state.polling.stamps.left--;
}

} // namespace haloscope::watch
