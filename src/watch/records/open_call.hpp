// The call that a thread has not come back from, as its record has it.
#pragma once

#include "watch/records/reading.hpp"
#include "watch/records/recorder.hpp"

#include <algorithm>
#include <cstring>

namespace haloscope::watch {

struct OpenCall {
  Doing doing{}; // a copy: the thread may go on meanwhile
  const Node *node = nullptr;
  Memory memory = Memory::host;
  unsigned function = function_count; // none
  std::uint64_t since = 0;            // tick

  explicit operator bool() const noexcept { return function < function_count && node != nullptr; }
  [[nodiscard]] std::uint64_t lasted(std::uint64_t until) const noexcept {
    return until > since ? until - since : 0;
  }
  // The kind of the first request that the call waits for, if it is known.
  [[nodiscard]] Pending waits_for() const noexcept {
    const bool is_known = doing.what == Doing::requests && doing.source >= 0 &&
                          doing.source <= static_cast<std::int32_t>(Pending::io);
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): it is in range
    return is_known ? static_cast<Pending>(doing.source) : Pending::none;
  }
};

// A call of which only the function is known began after the thread's newest stamp.
inline OpenCall open_call(const Recorder &recorder, const ThreadRecord &thread) noexcept {
  OpenCall open;
  std::memcpy(&open.doing, &recorder.doing, sizeof open.doing);
  open.function = open.doing.call == 0 ? function_count : open.doing.call - 1U;
  open.node = recorder.node;
  open.memory = memory_of_number(number_of(recorder.memory));
  open.since = std::max(open.doing.since, thread.newest);
  return open;
}

// The sum that the time of an open call belongs to, the same as for a finished call.
inline Spent spent_in(const OpenCall &open) noexcept {
  switch (open.waits_for()) {
  case Pending::collective:
    return Spent::collective;
  case Pending::one_sided:
    return Spent::one_sided;
  case Pending::io:
    return Spent::io;
  default:
    return function_spent[open.function];
  }
}

template <class Sums> void add_time(Sums &to, const OpenCall &open, std::uint64_t ticks) noexcept {
  switch (spent_in(open)) {
  case Spent::p2p:
    to.p2p_ticks += ticks;
    break;
  case Spent::collective:
    to.coll_ticks += ticks;
    break;
  case Spent::one_sided:
    to.rma_ticks += ticks;
    break;
  case Spent::io:
    to.io_ticks += ticks;
    break;
  case Spent::other:
    if constexpr (requires { to.other_ticks; }) to.other_ticks += ticks;
    break;
  }
  if (function_waits[open.function]) to.wait_ticks += ticks;
}

} // namespace haloscope::watch
