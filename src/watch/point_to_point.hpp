// Sends and receives: where they start, but for those of posts.hpp. Where they end: completion.hpp.
#pragma once

#include "watch/posts.hpp"

namespace haloscope::watch {

// After a blocking send whose like was not there before.
[[gnu::noinline]] inline void count_new_send(ThreadState &state, Post &place, Post post, MPI_Comm comm,
                                             std::uint64_t duration) noexcept {
  Request &request = post.request;
  const CommunicatorUse *use = message_use(state, comm, request.partner);
  if (use == nullptr) {
    count_call(state, request.function, 0);
    return;
  }
  request.record = count_send(state, message_of(request.function), *use->communicator, request.partner,
                              request.bytes, duration);
  if (request.record != nullptr) place = post;
}

// One that blocks waits, for a receiver that is late as well as for the message to be taken, as a blocking
// receive does.
template <bool waits = true, class Count, class Call>
int send(Function function, Count given, MPI_Datatype datatype, int dest, MPI_Comm comm, Call &&call) {
  const Entry state;
  if (!state) return call();
  const std::uint64_t begin = ticks();
  const auto count = static_cast<std::uint64_t>(given);
  Post &place = place_of_post(*state, function, dest, count);
  const bool repeated = is_repeated(*state, place, function, comm, datatype, count, dest);
  // What is looked up here is read while MPI works: the next stamp waits for what is read after this one.
  Node &node = *state->node;
  CallRecord &time = call_record(*state, function);
  MessageRecord *record = place.request.record;
  const std::uint64_t bytes = place.request.bytes;
  const int result = call();
  const std::uint64_t end = ticks();
  if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
  if (__builtin_expect(repeated, 1))
    count_sent(node, *record, bytes, end - begin);
  else
    count_new_send(*state, place,
                   {value_of(comm),
                    value_of(datatype),
                    count,
                    state->node,
                    {.function = function, .partner = dest, .bytes = payload(*state, given, datatype)}},
                   comm, end - begin);
  add_time(time, end - begin);
  node.p2p_ticks += end - begin;
  if constexpr (waits) node.wait_ticks += end - begin;
  passed_time(*state, end);
  return result;
}

// Into the buffer that the program gave: it waits for nobody.
template <class Count, class Call>
int send_buffered(Function function, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                  Call &&call) {
  return send<false>(function, count, datatype, dest, comm, call);
}

// After a blocking receive of what was not received there before. Returns the bytes.
[[gnu::noinline]] inline std::uint64_t count_new_receive(ThreadState &state, Post &place, Post post,
                                                         MPI_Comm comm, const MPI_Status &status,
                                                         std::uint64_t duration) noexcept {
  const CommunicatorUse *use = status.MPI_SOURCE < 0 ? nullptr : communicator_use(state, comm);
  if (use == nullptr) return 0; // MPI_PROC_NULL
  const std::uint64_t bytes = received_bytes(status);
  post.request.record = count_receive(state, *use->communicator, status.MPI_SOURCE, bytes, duration);
  place = post;
  return bytes;
}

template <class Count, class Call>
int receive(Function function, Count given, MPI_Datatype datatype, int source, MPI_Comm comm,
            MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const std::uint64_t begin = ticks();
  const auto count = static_cast<std::uint64_t>(given);
  Post &place = place_of_post(*state, function, source, count);
  MessageRecord *record =
      is_repeated(*state, place, function, comm, datatype, count, source) ? place.request.record : nullptr;
  Node &node = *state->node; // read while MPI works, as in `send`
  CallRecord &time = call_record(*state, function);
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
  std::uint64_t bytes = received_bytes(*result_status);
  if (__builtin_expect(is_current(record, node, result_status->MPI_SOURCE, bytes, arrived), 1))
    count_arrived(node, *record, bytes, end - begin);
  else
    bytes = count_new_receive(
        *state, place,
        {value_of(comm), value_of(datatype), count, state->node, {.function = function, .partner = source}},
        comm, *result_status, end - begin);
  time.calls++;
  time.bytes += bytes;
  add_time(time, end - begin);
  node.p2p_ticks += end - begin;
  node.wait_ticks += end - begin;
  passed_time(*state, end);
  return result;
}

// MPI_Sendrecv and MPI_Sendrecv_replace: half of the time belongs to each message.
template <class Count, class Call>
int exchange(Function function, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
             MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const std::uint64_t begin = ticks();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t half = (end - begin) / 2;
  if (const CommunicatorUse *use = message_use(*state, comm, dest))
    count_send(*state, message_of(function), *use->communicator, dest, payload(*state, count, datatype),
               half);
  else
    count_call(*state, function, 0);
  if (const CommunicatorUse *use = communicator_use(*state, comm))
    received(*state, *use->communicator, *result_status, received_bytes(*result_status), end - begin - half,
             exchanged);
  add_call_time(*state, function, end - begin);
  add_waiting(*state, end - begin);
  passed_time(*state, end);
  return result;
}

template <class SendCount, class RecvCount, class Call>
int post_exchange(Function function, SendCount count, MPI_Datatype datatype, int dest, RecvCount recvcount,
                  MPI_Datatype recvtype, int source, MPI_Comm comm, MPI_Request *request, Call &&call) {
  return post(function, count, datatype, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t duration) {
                if (const CommunicatorUse *use = message_use(state, comm, dest))
                  count_send(state, message_of(function), *use->communicator, dest, bytes, duration);
                else
                  count_call(state, function, 0);
                const std::uint64_t room = payload(state, recvcount, recvtype);
                keep_receive(state, function, message_use(state, comm, source), source, room, *request,
                             Request::exchanging);
              });
}

// Persistent requests count when they are started (sends) or complete (receives).
template <class Count, class Call>
int init_send(Function function, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
              MPI_Request *request, Call &&call) {
  return post(function, count, datatype, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t /*duration*/) {
                count_call(state, function, 0);
                if (const CommunicatorUse *use = message_use(state, comm, dest))
                  keep_send(state, *request,
                            {.kind = Pending::send,
                             .flags = Request::persistent | Request::idle,
                             .function = function,
                             .partner = dest,
                             .communicator = use->communicator->number,
                             .bytes = bytes});
                else
                  clear_request(state, *request);
              });
}

template <class Count, class Call>
int init_receive(Function function, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                 MPI_Request *request, Call &&call) {
  return post(function, count, datatype, call,
              [&](ThreadState &state, std::uint64_t room, std::uint64_t /*duration*/) {
                count_call(state, function, 0);
                keep_receive(state, function, message_use(state, comm, source), source, room, *request,
                             Request::persistent | Request::idle);
              });
}

// The sender and the size are those of the arguments: MPI lets no wildcard here.
template <class Count, class Call>
int init_partitioned_receive(Function function, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                             MPI_Request *request, Call &&call) {
  const int result = init_receive(function, count, datatype, source, comm, request, call);
  if (result != MPI_SUCCESS) return result;
  if (Request *slot = request_slot(*request); slot != nullptr && slot->kind == Pending::receive)
    slot->kind = Pending::partitioned;
  return result;
}

template <class Call> int probe(Function function, Call &&call) {
  return timed(call, [&](ThreadState &state, std::uint64_t duration) {
    count_call(state, function, 0, duration);
    add_waiting(state, duration);
  });
}

// A poll: counted, not timed.
template <class Call> int poll(Function function, Call &&call) {
  const Entry state;
  const int result = call();
  if (state && result == MPI_SUCCESS) count_call(*state, function, 0);
  return result;
}

// MPI_Mprobe and, with `flag`, MPI_Improbe: the message remembers its communicator.
template <class Call>
int probe_matched(Function function, MPI_Comm comm, const MPI_Message *message, const int *flag,
                  Call &&call) {
  const int result = flag == nullptr ? probe(function, call) : poll(function, call);
  if (result != MPI_SUCCESS || (flag != nullptr && *flag == 0) || *message == MPI_MESSAGE_NULL ||
      *message == MPI_MESSAGE_NO_PROC)
    return result;
  const Entry state;
  if (!state) return result;
  if (Request *slot = matched_messages.slot(value_of(*message)))
    if (const CommunicatorUse *use = communicator_use(*state, comm))
      *slot = Request{.kind = Pending::receive, .communicator = use->communicator->number};
  return result;
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
int receive_matched(Function function, const MPI_Message *message, MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  const Communicator *communicator = take_message(*message);
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const std::uint64_t begin = ticks();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  std::uint64_t bytes = received_bytes(*result_status);
  if (communicator == nullptr || !received(*state, *communicator, *result_status, bytes, end - begin))
    bytes = 0;
  count_call(*state, function, bytes, end - begin);
  add_waiting(*state, end - begin);
  passed_time(*state, end);
  return result;
}

template <class Count, class Call>
int post_receive_matched(Function function, Count count, MPI_Datatype datatype, const MPI_Message *message,
                         MPI_Request *request, Call &&call) {
  const Communicator *communicator = take_message(*message);
  return post(function, count, datatype, call,
              [&](ThreadState &state, std::uint64_t room, std::uint64_t /*duration*/) {
                count_call(state, function, 0);
                if (communicator == nullptr)
                  clear_request(state, *request);
                else
                  put_request(state, *request,
                              Request{.kind = Pending::receive,
                                      .function = function,
                                      .partner = -1,
                                      .communicator = communicator->number,
                                      .bytes = room});
              });
}

} // namespace haloscope::watch
