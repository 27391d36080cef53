// The call that a thread has not come back from, as its record has it.
#pragma once

#include "watch/reading.hpp"
#include "watch/recording.hpp"

#include <algorithm>

namespace haloscope::watch {

struct OpenCall {
  Doing doing{}; // a copy: the thread may go on meanwhile
  const Node *node = nullptr;
  unsigned function = function_count; // none
  std::uint64_t since = 0;            // tick

  explicit operator bool() const noexcept { return function < function_count && node != nullptr; }
  [[nodiscard]] std::uint64_t lasted(std::uint64_t until) const noexcept {
    return until > since ? until - since : 0;
  }
};

// Calls of which only the function is known began after the thread's newest stamp.
inline OpenCall open_call(const Recorder &recorder, const ThreadRecord &thread) noexcept {
  OpenCall open;
  std::memcpy(&open.doing, &recorder.doing, sizeof open.doing);
  open.function = open.doing.call == 0 ? function_count : open.doing.call - 1U;
  open.node = recorder.node;
  open.since = std::max(open.doing.since, thread.newest);
  return open;
}

// Which sum of its region the time of such a call belongs to.
inline std::uint64_t CountedOften::*often_sum_of(const OpenCall &open) noexcept {
  const auto kind = static_cast<Pending>(open.doing.source);
  switch (open.doing.what) {
  case Doing::send:
  case Doing::receive:
  case Doing::exchange:
    return &CountedOften::p2p_ticks;
  case Doing::collective:
    return &CountedOften::coll_ticks;
  case Doing::requests:
    if (kind == Pending::collective) return &CountedOften::coll_ticks;
    return kind == Pending::one_sided || kind == Pending::io ? nullptr : &CountedOften::p2p_ticks;
  default:
    return nullptr;
  }
}

} // namespace haloscope::watch
