// MPI_Start, MPI_Cancel and MPI_Request_free: what happens to a request before it completes.
#pragma once

#include "watch/counting/completion.hpp"

namespace haloscope::watch {

// A persistent operation begins.
inline void count_start(ThreadState &state, Request &request, std::uint64_t duration) noexcept {
  request.flags &= static_cast<std::uint8_t>(~(Request::idle | Request::cancelling));
  const Counting counting{state, request.memory()};
  if (request.kind == Pending::send && request.has(Request::persistent)) {
    request.record =
        count_send(state, started_again, communicator_of(request), request.partner, request.bytes, duration);
  } else if (request.kind == Pending::collective && request.has(Request::persistent)) {
    const Communicator &communicator = communicator_of(request);
    count_collective(state, request.function, communicator, request.bytes, duration);
    if (request.flows != nullptr)
      for (const Flow &flow : *request.flows) count_flow(state, communicator, flow);
  }
}

// Traces the begin of a persistent message or collective.
[[gnu::noinline]] inline void trace_started(ThreadState &state, MPI_Request handle,
                                            const Request &request) noexcept {
  const MessageAction action = request.kind == Pending::send         ? MessageAction::begun_send
                               : request.kind == Pending::collective ? MessageAction::begun_collective
                               : request.kind == Pending::receive || request.kind == Pending::partitioned
                                   ? MessageAction::posted
                                   : MessageAction::none;
  if (action == MessageAction::none || !request.has(Request::persistent)) return;
  const std::uint64_t number = begin_request(state, handle, request.kind == Pending::send);
  trace_part(state, number == 0 && action == MessageAction::begun_send ? MessageAction::sent : action, number,
             request.communicator, request.partner, request.tag, request.bytes, request.function);
}

// MPI_Start and MPI_Startall.
template <class Call>
int start(const Invocation &invoked, int count, const MPI_Request *requests, Call &&call) {
  return timed(invoked, call, [&](ThreadState &state, std::uint64_t duration) {
    const auto all = span_of(requests, count);
    const std::uint64_t part = part_of(*state.node, duration, all.size());
    for (const MPI_Request handle : all) {
      Request *slot = request_slot(state, handle);
      if (slot != nullptr) count_start(state, *slot, part);
      if (slot != nullptr && is_traced(state)) trace_started(state, handle, *slot);
      add_share(*state.node, slot == nullptr ? Pending::none : slot->kind, part);
    }
    count_call(state, invoked, 0, duration);
    return std::uint64_t{0};
  });
}

template <class Call> int cancel(const Invocation &invoked, const MPI_Request *request, Call &&call) {
  const int result = poll(invoked, call);
  if (result != MPI_SUCCESS) return result;
  if (Request *slot = request_slot(*request)) slot->flags |= Request::cancelling;
  return result;
}

// A receive that is freed before it is complete can never be observed.
template <class Call> int free_request(const Invocation &invoked, const MPI_Request *request, Call &&call) {
  if (Request *slot = request_slot(*request); slot != nullptr && !slot->has(Request::shared)) {
    if (slot->kind == Pending::collective && slot->has(Request::persistent)) delete slot->flows;
    *slot = Request{};
  }
  return poll(invoked, call);
}

} // namespace haloscope::watch
