// What the functions behind the wrappers have in common.
#pragma once

#include "hide/layer/completion.hpp"
#include "hide/layer/waiting.hpp"

namespace haloscope::stencil::layer {

using interpose::Status;

inline bool is_running() noexcept { return layer.running.load(std::memory_order_acquire); }
// The program has requests that are known to us.
inline bool has_requests() noexcept { return is_running() && any_known(); }

// … or a call that blocks has to look after its receives.
inline bool may_wait() noexcept { return is_running() && (any_known() || must_poll()); }

// What only large messages and those of a token's length have to go through.
inline bool may_be_ours(MPI_Count count, MPI_Datatype type) noexcept {
  const auto bytes = bytes_of(count, type);
  return bytes >= layer.options.threshold || slot_of(bytes) >= 0;
}

[[gnu::noinline, gnu::cold]] inline int end_possible_token(const Target &target, MPI_Status &status) {
  if (interpose::was_cancelled(status)) return MPI_SUCCESS;
  int error = MPI_SUCCESS;
  {
    const Lock lock;
    error = receive_now(target, status);
  }
  return raise(target.comm, error);
}

// After a receive below the threshold: nearly always nothing.
inline int end_small(const Target &target, MPI_Status &status, int result) {
  if (__builtin_expect(result != MPI_SUCCESS || slot_of(interpose::received_bytes(status)) < 0, 1))
    return result;
  return end_possible_token(target, status);
}

// A call that completes one.
template <class Call> int complete_small(const Target &target, MPI_Status *given, Call &&call) {
  MPI_Status own;
  MPI_Status *status = given == MPI_STATUS_IGNORE ? &own : given;
  const int result = call(status);
  return end_small(target, *status, result);
}

// MPI_Wait, of a request that is not ours or may complete.
template <class Call> int wait_for(MPI_Request *handle, MPI_Status *status, Call &&call) {
  return must_poll() ? finish(handle, status) : call(status);
}

inline void wait_until_ready(Request &request) {
  Waiting waiting;
  for (;;) {
    {
      const Lock lock;
      if (may_complete(request)) return;
    }
    waiting();
  }
}

} // namespace haloscope::stencil::layer
