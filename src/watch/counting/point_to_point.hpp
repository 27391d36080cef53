// Sends and receives: where they start, but for those of posts.hpp. Where they end: completion.hpp.
#pragma once

#include "watch/counting/posts.hpp"

namespace haloscope::watch {

// After a blocking send with new arguments. Returns the communicator's number; 0 if there is no message.
[[gnu::noinline]] inline std::uint32_t count_new_send(ThreadState &state, Post &place, Post post,
                                                      MPI_Comm comm, std::uint64_t duration) noexcept {
  Request &request = post.request;
  const CommunicatorUse *use = message_use(state, comm, request.partner);
  if (use == nullptr) {
    count_call(state, request.function, 0);
    return 0;
  }
  request.communicator = use->communicator->number;
  request.record = count_send(state, message_of(request.function), *use->communicator, request.partner,
                              request.bytes, duration);
  count_at_site(state, request.bytes);
  if (request.record != nullptr) place = post;
  return request.communicator;
}

// A blocking call and its one message in the trace; `communicator` 0: there was none.
[[gnu::noinline]] inline void trace_message(ThreadState &state, Function function, Stamps stamps,
                                            MessageAction action, std::uint32_t communicator,
                                            std::int32_t partner, std::int32_t tag,
                                            std::uint64_t bytes) noexcept {
  if (communicator == 0)
    trace_call(state, {.function = function, .begin = stamps.begin, .end = stamps.end});
  else
    trace_call(state, {.function = function,
                       .begin = stamps.begin,
                       .end = stamps.end,
                       .bytes = bytes,
                       .action = action,
                       .communicator = communicator,
                       .partner = partner,
                       .tag = tag,
                       .size = bytes});
}

// A blocking send waits for a late receiver, and for the message to be taken, so its time is waiting as in a
// blocking receive.
template <bool waits = true, class Count, class Call>
int send(const Invocation &invoked, Count given, MPI_Datatype datatype, int dest, MPI_Comm comm,
         Call &&call) {
  const Entry state{invoked};
  if (!state) return call();
  const std::uint64_t begin = state->begin_call();
  const std::uint64_t count = count_of_post(given, invoked.memory);
  Post &place = place_of_post(*state, invoked, dest, count);
  const bool repeated = is_repeated(*state, place, invoked, comm, datatype, count, dest);
  // These loads run while MPI works. Loads after the call would delay the next stamp.
  Node &node = *state->node;
  CallRecord &time = call_record(*state, invoked);
  MessageRecord *record = place.request.record;
  const std::uint64_t bytes = place.request.bytes;
  if (__builtin_expect(repeated, 1))
    publish_message(*state, Doing::send, invoked, place.request.communicator, bytes);
  else
    publish_message(*state, Doing::send, invoked, known_number(*state, comm),
                    known_payload(*state, given, datatype));
  const int result = call();
  const std::uint64_t end = ticks();
  if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
  std::uint32_t communicator = place.request.communicator;
  if (__builtin_expect(repeated, 1)) {
    count_sent(node, *record, bytes, end - begin);
    count_at_site(*state, bytes);
  } else {
    communicator =
        count_new_send(*state, place,
                       {value_of(comm),
                        value_of(datatype),
                        count,
                        state->node,
                        {.function = invoked, .partner = dest, .bytes = payload(*state, given, datatype)}},
                       comm, end - begin);
  }
  add_time(*state, time, end - begin);
  if (is_traced(*state))
    trace_message(*state, invoked, {begin, end}, MessageAction::sent, communicator, dest, invoked.tag,
                  repeated ? bytes : payload(*state, given, datatype));
  node.p2p_ticks += end - begin;
  if constexpr (waits) node.wait_ticks += end - begin;
  note_time(*state, end);
  return result;
}

// MPI_Bsend copies into the program's buffer, so it waits for no receiver.
template <class Count, class Call>
int send_buffered(const Invocation &invoked, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                  Call &&call) {
  return send<false>(invoked, count, datatype, dest, comm, call);
}

// After a blocking receive with new arguments. Returns the bytes.
[[gnu::noinline]] inline std::uint64_t count_new_receive(ThreadState &state, Post &place, Post post,
                                                         MPI_Comm comm, const MPI_Status &status,
                                                         std::uint64_t duration) noexcept {
  const CommunicatorUse *use = status.MPI_SOURCE < 0 ? nullptr : communicator_use(state, comm);
  if (use == nullptr) return 0; // MPI_PROC_NULL
  const std::uint64_t bytes = received_bytes(status);
  post.request.record = count_receive(state, *use->communicator, status.MPI_SOURCE, bytes, duration);
  post.request.communicator = use->communicator->number;
  place = post;
  return bytes;
}

template <class Count, class Call>
int receive(const Invocation &invoked, Count given, MPI_Datatype datatype, int source, MPI_Comm comm,
            MPI_Status *status, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  const std::uint64_t begin = state->begin_call();
  const std::uint64_t count = count_of_post(given, invoked.memory);
  Post &place = place_of_post(*state, invoked, source, count);
  const bool repeated = is_repeated(*state, place, invoked, comm, datatype, count, source);
  MessageRecord *record = repeated ? place.request.record : nullptr;
  Node &node = *state->node; // read while MPI works, as in `send`
  CallRecord &time = call_record(*state, invoked);
  if (__builtin_expect(repeated, 1))
    publish_message(*state, Doing::receive, invoked, place.request.communicator, unknown_bytes);
  else
    publish_message(*state, Doing::receive, invoked, known_number(*state, comm), unknown_bytes);
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
  std::uint64_t bytes = received_bytes(*result_status);
  if (__builtin_expect(is_current(record, node, result_status->MPI_SOURCE, bytes, arrived, invoked.memory),
                       1))
    count_arrived(node, *record, bytes, end - begin);
  else
    bytes = count_new_receive(
        *state, place,
        {value_of(comm), value_of(datatype), count, state->node, {.function = invoked, .partner = source}},
        comm, *result_status, end - begin);
  time.calls++;
  time.bytes += bytes;
  count_at_site(*state, bytes);
  add_time(*state, time, end - begin);
  if (is_traced(*state))
    trace_message(*state, invoked, {begin, end}, MessageAction::received,
                  result_status->MPI_SOURCE < 0 ? 0 : place.request.communicator, result_status->MPI_SOURCE,
                  result_status->MPI_TAG, bytes);
  node.p2p_ticks += end - begin;
  node.wait_ticks += end - begin;
  note_time(*state, end);
  return result;
}

// Counts the send of a call that also receives.
template <class Count>
void count_exchanged(ThreadState &state, Function function, const CommunicatorUse *use, int dest, Count count,
                     MPI_Datatype datatype, std::uint64_t duration) noexcept {
  if (use == nullptr) {
    count_call(state, function, 0);
    return;
  }
  const std::uint64_t bytes = payload(state, count, datatype);
  count_send(state, message_of(function), *use->communicator, dest, bytes, duration);
  count_at_site(state, bytes);
}

// MPI_Sendrecv and MPI_Sendrecv_replace: half of the time belongs to each message.
template <class Count, class Call>
int exchange(const Invocation &invoked, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
             MPI_Status *status, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  publish_message(*state, Doing::exchange, invoked, known_number(*state, comm),
                  known_payload(*state, count, datatype));
  state->doing.source = invoked.source;
  const std::uint64_t begin = state->begin_call();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t half = (end - begin) / 2;
  const CommunicatorUse *sending = message_use(*state, comm, dest);
  count_exchanged(*state, invoked, sending, dest, count, datatype, half);
  if (const CommunicatorUse *use = communicator_use(*state, comm)) {
    const std::uint64_t bytes = received_bytes(*result_status);
    const Counting counting{*state, invoked.into};
    if (count_if_received(*state, *use->communicator, *result_status, bytes, end - begin - half, exchanged) &&
        is_traced(*state))
      trace_part(*state, MessageAction::received, 0, use->communicator->number, result_status->MPI_SOURCE,
                 result_status->MPI_TAG, bytes);
  }
  if (is_traced(*state))
    trace_message(*state, invoked, {begin, end}, MessageAction::sent,
                  sending == nullptr ? 0 : sending->communicator->number, dest, invoked.tag,
                  payload(*state, count, datatype));
  add_call_time(*state, invoked, end - begin);
  add_waiting(*state, end - begin);
  note_time(*state, end);
  return result;
}

template <class SendCount, class RecvCount, class Call>
int post_exchange(const Invocation &invoked, SendCount count, MPI_Datatype datatype, int dest,
                  RecvCount recvcount, MPI_Datatype recvtype, int source, MPI_Comm comm, MPI_Request *request,
                  Call &&call) {
  return post(invoked, count, datatype, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t duration, Stamps stamps) {
                const CommunicatorUse *sending = message_use(state, comm, dest);
                count_exchanged(state, invoked, sending, dest, count, datatype, duration);
                const std::uint64_t room = payload(state, recvcount, recvtype);
                const CommunicatorUse *receiving = message_use(state, comm, source);
                keep_receive(state, invoked, receiving, source, room, *request, Request::exchanging);
                if (!is_traced(state)) return;
                // The request is that of the receive; the send is over with the call for all we know.
                const std::uint64_t number = receiving == nullptr ? 0 : begin_request(state, *request, false);
                if (sending != nullptr)
                  trace_part(state, MessageAction::sent, 0, sending->communicator->number, dest, invoked.tag,
                             bytes);
                trace_call(state, {.function = invoked,
                                   .begin = stamps.begin,
                                   .end = stamps.end,
                                   .bytes = sending == nullptr ? 0 : bytes,
                                   .action = number == 0 ? MessageAction::none : MessageAction::posted,
                                   .communicator = receiving == nullptr ? 0 : receiving->communicator->number,
                                   .partner = source,
                                   .size = room});
              });
}

// Persistent requests count when they are started (sends) or complete (receives).
template <class Count, class Call>
int init_send(const Invocation &invoked, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
              MPI_Request *request, Call &&call) {
  return post(invoked, count, datatype, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t /*duration*/, Stamps stamps) {
                count_call(state, invoked, 0);
                note_call(state, invoked, stamps.begin, stamps.end);
                if (const CommunicatorUse *use = message_use(state, comm, dest))
                  keep_send(state, *request,
                            {.kind = Pending::send,
                             .flags = static_cast<std::uint8_t>(Request::persistent | Request::idle |
                                                                Request::flags_of(invoked.memory)),
                             .function = invoked,
                             .partner = dest,
                             .communicator = use->communicator->number,
                             .bytes = bytes},
                            invoked.tag);
                else
                  clear_request(state, *request);
              });
}

template <class Count, class Call>
int init_receive(const Invocation &invoked, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                 MPI_Request *request, Call &&call) {
  return post(invoked, count, datatype, call,
              [&](ThreadState &state, std::uint64_t room, std::uint64_t /*duration*/, Stamps stamps) {
                count_call(state, invoked, 0);
                note_call(state, invoked, stamps.begin, stamps.end);
                keep_receive(state, invoked, message_use(state, comm, source), source, room, *request,
                             Request::persistent | Request::idle);
              });
}

// The sender and the size are those of the arguments: MPI lets no wildcard here.
template <class Count, class Call>
int init_partitioned_receive(const Invocation &invoked, Count count, MPI_Datatype datatype, int source,
                             MPI_Comm comm, MPI_Request *request, Call &&call) {
  const int result = init_receive(invoked, count, datatype, source, comm, request, call);
  if (result != MPI_SUCCESS) return result;
  if (Request *slot = request_slot(*request); slot != nullptr && slot->kind == Pending::receive)
    slot->kind = Pending::partitioned;
  return result;
}

} // namespace haloscope::watch
