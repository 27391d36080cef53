// Probes, and receives of messages that a matched probe has found.
#pragma once

#include "watch/counting/point_to_point.hpp"
#include "watch/counting/polling.hpp"

namespace haloscope::watch {

// `then(state)` is called after a successful probe.
template <class Call, class Then>
int probe(const Invocation &invoked, MPI_Comm comm, Call &&call, Then &&then) {
  return timed(
      invoked, call,
      [&](ThreadState &state, std::uint64_t duration) {
        count_call(state, invoked, 0, duration);
        add_waiting(state, duration);
        then(state);
        return std::uint64_t{0};
      },
      [&](ThreadState &state) {
        publish_message(state, Doing::receive, invoked, known_number(state, comm), unknown_bytes);
      });
}
template <class Call> int probe(const Invocation &invoked, MPI_Comm comm, Call &&call) {
  return probe(invoked, comm, call, [](ThreadState &) {});
}

// A short call: counted, not timed. `then(state)` is called after a successful one.
template <class Call, class Then> int poll(const Invocation &invoked, Call &&call, const Then &then) {
  const Entry state{invoked};
  const std::uint64_t begin = state ? traced_tick(*state) : 0;
  const int result = call();
  if (state && result == MPI_SUCCESS) {
    count_call(*state, invoked, 0);
    then(*state);
    note_unstamped(*state, invoked, begin);
  }
  return result;
}
template <class Call> int poll(const Invocation &invoked, Call &&call) {
  return poll(invoked, call, [](ThreadState &) {});
}

// A poll reports in `flag` whether it found something. If so, `then(state)` is called.
template <class Call, class Then>
int poll_for(const Invocation &invoked, const int *flag, Call &&call, Then &&then) {
  const Entry state{invoked};
  if (!state) return call();
  const std::uint64_t begin = begin_poll(*state);
  const int result = call();
  if (result != MPI_SUCCESS) return result;
  count_call(*state, invoked, 0);
  if (*flag != 0) then(*state);
  count_poll(*state, invoked, begin, *flag != 0);
  return result;
}
template <class Call> int poll_for(const Invocation &invoked, const int *flag, Call &&call) {
  return poll_for(invoked, flag, call, [](ThreadState &) {});
}

// MPI_Mprobe and, with `flag`, MPI_Improbe: the message remembers its communicator. It is taken here,
// whenever it is received.
template <class Call>
int probe_matched(const Invocation &invoked, MPI_Comm comm, const MPI_Message *message, const int *flag,
                  Call &&call) {
  const auto keep = [&](ThreadState &state) {
    if (*message == MPI_MESSAGE_NULL || *message == MPI_MESSAGE_NO_PROC) return;
    Request *slot = matched_messages.slot(value_of(*message));
    const CommunicatorUse *use = slot == nullptr ? nullptr : communicator_use(state, comm);
    if (use == nullptr) return;
    *slot = Request{.kind = Pending::receive, .communicator = use->communicator->number};
    if (is_traced(state)) trace_match(state, *message, slot->communicator);
  };
  return flag == nullptr ? probe(invoked, comm, call, keep) : poll_for(invoked, flag, call, keep);
}

// Taken out before the call, which frees the handle.
inline const Communicator *take_message(MPI_Message message) noexcept {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return nullptr;
  Request *slot = matched_messages.slot(value_of(message));
  if (slot == nullptr || slot->kind == Pending::none) return nullptr;
  slot->kind = Pending::none;
  return &communicator_of(*slot);
}

template <class Call>
int receive_matched(const Invocation &invoked, const MPI_Message *message, MPI_Status *status, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  const std::uint64_t number = traced_match(*state, *message);
  const Communicator *communicator = take_message(*message);
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  state->doing.communicator = communicator == nullptr ? 0 : communicator->number;
  const std::uint64_t begin = state->begin_call();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  std::uint64_t bytes = received_bytes(*result_status);
  if (communicator == nullptr ||
      !count_if_received(*state, *communicator, *result_status, bytes, end - begin))
    bytes = 0;
  count_call(*state, invoked, bytes, end - begin);
  if (is_traced(*state) && number != 0 && communicator != nullptr) {
    trace_part(*state, MessageAction::completed_receive, number, communicator->number,
               result_status->MPI_SOURCE, result_status->MPI_TAG, bytes);
    trace_call(*state, {.function = invoked, .begin = begin, .end = end, .bytes = bytes});
  } else if (is_traced(*state)) {
    trace_message(*state, invoked, {begin, end}, MessageAction::received,
                  communicator == nullptr || result_status->MPI_SOURCE < 0 ? 0 : communicator->number,
                  result_status->MPI_SOURCE, result_status->MPI_TAG, bytes);
  }
  add_waiting(*state, end - begin);
  note_time(*state, end);
  return result;
}

template <class Count, class Call>
int post_receive_matched(const Invocation &invoked, Count count, MPI_Datatype datatype,
                         const MPI_Message *message, MPI_Request *request, Call &&call) {
  const std::uint64_t number = this_thread() == nullptr ? 0 : traced_match(*this_thread(), *message);
  const Communicator *communicator = take_message(*message);
  return post(invoked, count, datatype, call,
              [&](ThreadState &state, std::uint64_t room, std::uint64_t /*duration*/, Stamps stamps) {
                count_call(state, invoked, 0);
                if (communicator == nullptr) {
                  clear_request(state, *request);
                  note_call(state, invoked, stamps.begin, stamps.end);
                  return;
                }
                const Request pending{.kind = Pending::receive,
                                      .flags = Request::flags_of(invoked.memory),
                                      .function = invoked,
                                      .partner = -1,
                                      .communicator = communicator->number,
                                      .bytes = room};
                put_request(state, *request, pending);
                if (is_traced(state) && hand_on(number, *request))
                  trace_call(state, {.function = invoked, .begin = stamps.begin, .end = stamps.end});
                else if (is_traced(state))
                  trace_post<false>(state, invoked, stamps, *request, pending, no_number);
              });
}

} // namespace haloscope::watch
