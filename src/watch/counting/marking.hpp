// Entry of markers from all interfaces.
#pragma once

#include "watch/counting/state.hpp"

namespace haloscope::watch {

// Returns nullptr where markers are not recorded: before MPI_Init, after MPI_Finalize, in a rank that does
// not record.
inline ThreadState *marking_thread() noexcept {
  if (global().phase.load(std::memory_order_relaxed) != Phase::running) return nullptr;
  ThreadState *state = this_thread();
  if (__builtin_expect(state == nullptr, 0)) state = attach_or_drop();
  if (state != nullptr) catch_up(*state);
  return state;
}

} // namespace haloscope::watch
