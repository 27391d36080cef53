// Trace events from the families of functions: one per call, at its end.
//
// Budget: two clock reads (clock_gettime) per call, including the two stamps of a call that has none
// otherwise. Without a trace, one branch.
#pragma once

#include "watch/counting/state.hpp"
#include "watch/records/trace_ring.hpp"

namespace haloscope::watch {

// The tick at which a call begins or ends that is not stamped for any other reason; 0 without a trace.
[[gnu::always_inline]] inline std::uint64_t traced_tick(const Recorder &state) noexcept {
  return __builtin_expect(state.ring != nullptr, 0) ? ticks() : 0;
}

struct TracedCall {
  Function function;
  std::uint64_t begin, end;
  std::uint64_t bytes = 0; // as in its CallRecord
  MessageAction action = MessageAction::none;
  std::uint32_t communicator = 0;
  std::int32_t partner = no_number, tag = no_number;
  std::uint64_t size = 0; // of the message or the collective
};

inline bool is_traced(const Recorder &state) noexcept {
  return __builtin_expect(state.ring != nullptr, 0) && state.node != state.discard;
}

// Out of line: callers that trace nothing stay small.
[[gnu::noinline]] void trace_call(Recorder &state, const TracedCall &call) noexcept;
// `function`: that made what begins, if it is a collective.
[[gnu::noinline]] void trace_part(Recorder &state, MessageAction action, std::uint64_t number,
                                  std::uint32_t communicator, std::int32_t partner, std::int32_t tag,
                                  std::uint64_t size, Function function = {}) noexcept;
// A call without a message or a collective.
[[gnu::always_inline]] inline void note_call(Recorder &state, Function function, std::uint64_t begin,
                                             std::uint64_t end, std::uint64_t bytes) noexcept {
  if (is_traced(state)) trace_call(state, {.function = function, .begin = begin, .end = end, .bytes = bytes});
}
// A call without stamps, which ends now.
[[gnu::always_inline]] inline void note_unstamped(Recorder &state, Function function, std::uint64_t begin,
                                                  std::uint64_t bytes = 0) noexcept {
  if (is_traced(state)) note_call(state, function, begin, ticks(), bytes);
}

// The number of a request that begins now, which is known by its handle from here on; 0 if it is complete
// already, or nothing can be known of it.
[[gnu::noinline]] std::uint64_t begin_request(ThreadState &state, MPI_Request handle, bool is_send) noexcept;
// Number of the request of a handle, before the call that completes it where several threads may do that.
[[gnu::noinline]] std::uint64_t number_of(ThreadState &state, MPI_Request handle) noexcept;

// A message that was matched is a receive that was posted then; `hand_on` gives its number to the request
// that receives it, if there are both.
[[gnu::noinline]] void trace_match(ThreadState &state, MPI_Message message,
                                   std::uint32_t communicator) noexcept;
[[gnu::noinline]] std::uint64_t number_of_match(MPI_Message message) noexcept;
[[gnu::always_inline]] inline std::uint64_t traced_match(const Recorder &state,
                                                         MPI_Message message) noexcept {
  return __builtin_expect(state.ring != nullptr, 0) ? number_of_match(message) : 0;
}
[[gnu::noinline]] bool hand_on(std::uint64_t number, MPI_Request handle) noexcept;

// Traces the completion of a request. Called before its slot is cleared.
[[gnu::noinline]] void trace_completion(ThreadState &state, std::uint64_t number, const Request &request,
                                        const MPI_Status &status) noexcept;

} // namespace haloscope::watch
