// MPI_Start, MPI_Cancel and MPI_Request_free: what happens to a request before it completes.
#pragma once

#include "watch/completion.hpp"

namespace haloscope::watch {

// A persistent operation begins.
inline void started(ThreadState &state, Request &request, std::uint64_t duration) noexcept {
  request.flags &= static_cast<std::uint8_t>(~(Request::idle | Request::cancelling));
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

// MPI_Start and MPI_Startall.
template <class Call>
int start(const Invocation &invoked, int count, const MPI_Request *requests, Call &&call) {
  return timed(invoked, call, [&](ThreadState &state, std::uint64_t duration) {
    const auto all = span_of(requests, count);
    const std::uint64_t part = part_of(*state.node, duration, all.size());
    for (const MPI_Request handle : all) {
      Request *slot = request_slot(state, handle);
      if (slot != nullptr) started(state, *slot, part);
      add_share(*state.node, slot == nullptr ? Pending::none : slot->kind, part);
    }
    count_call(state, invoked, 0, duration);
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
  const Entry state{invoked};
  const MPI_Request handle = *request;
  if (Request *slot = request_slot(handle); slot != nullptr && !slot->has(Request::shared)) {
    if (slot->kind == Pending::collective && slot->has(Request::persistent)) delete slot->flows;
    *slot = Request{};
  }
  const int result = call();
  if (state && result == MPI_SUCCESS) count_call(*state, invoked, 0);
  return result;
}

} // namespace haloscope::watch
