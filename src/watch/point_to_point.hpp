// Sends and receives: where they start. Where they end: completion.hpp.
#pragma once

#include "state.hpp"

namespace haloscope::watch {

// Messages from this size on have the time of their post taken always; smaller ones are sampled.
inline constexpr std::uint64_t stamped_size = 4096;

[[gnu::always_inline]] inline Request *request_slot(MPI_Request handle) noexcept {
  if (handle == MPI_REQUEST_NULL || is_finished(handle)) return nullptr;
  return global.requests.slot(value_of(handle));
}
inline void put_request(MPI_Request handle, const Request &request) noexcept {
  if (Request *slot = request_slot(handle)) *slot = request;
}
inline void clear_request(MPI_Request handle) noexcept { put_request(handle, {}); }

// Of the thread; nullptr for a communicator that there is no memory for.
[[gnu::always_inline]] inline CommunicatorUse *communicator_use(ThreadState &state, MPI_Comm comm) noexcept {
  const std::uintptr_t value = value_of(comm);
  const CachedUse &cached = state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached];
  if (__builtin_expect(cached.handle == comm &&
                           cached.epoch == global.communicator_epoch.load(std::memory_order_relaxed),
                       1))
    return cached.use;
  return look_up_communicator(state, comm);
}

// The same for a message; nullptr too where there is none.
inline CommunicatorUse *message_use(ThreadState &state, MPI_Comm comm, int rank) noexcept {
  return rank == MPI_PROC_NULL ? nullptr : communicator_use(state, comm);
}

inline Partner &partner(ThreadState &state, const Communicator &communicator, int rank) noexcept {
  return partner_of(state, communicator.id, rank, [&](int of) { return world_rank(communicator, of); });
}

inline void sent(ThreadState &state, CommunicatorUse &use, int dest, std::uint64_t bytes,
                 std::uint64_t duration) noexcept {
  use.calls++;
  use.bytes += bytes;
  count_send(state, partner(state, *use.communicator, dest), bytes, duration);
}

// Returns whether it counted: MPI_PROC_NULL and cancelled operations do not.
inline bool received(ThreadState &state, const Communicator &communicator, const MPI_Status &status,
                     std::uint64_t room, std::uint64_t duration) noexcept {
  if (status.MPI_SOURCE == MPI_PROC_NULL || status.MPI_SOURCE == MPI_ANY_SOURCE || was_cancelled(status))
    return false;
  // A truncated message may report the size that was sent.
  const std::uint64_t bytes = std::min(received_bytes(status), room);
  count_receive(state, partner(state, communicator, status.MPI_SOURCE), bytes, duration);
  return true;
}

inline MPI_Status *usable(MPI_Status *status, MPI_Status &own) noexcept {
  return status == MPI_STATUS_IGNORE ? &own : status;
}

inline void add_waiting(const Recorder &state, std::uint64_t duration) noexcept {
  state.node->p2p_ticks += duration;
  state.node->wait_ticks += duration;
}

template <class Count, class Call>
int send(Function function, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm, Call &&call) {
  const Entry state;
  if (!state) return call();
  const std::uint64_t begin = ticks();
  const int result = call();
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t bytes = dest == MPI_PROC_NULL ? 0 : payload(*state, count, datatype);
  if (CommunicatorUse *use = message_use(*state, comm, dest)) sent(*state, *use, dest, bytes, end - begin);
  count_call(*state, function, bytes, end - begin);
  state->node->p2p_ticks += end - begin;
  state->record->newest = end;
  return result;
}

template <class Call> int receive(Function function, MPI_Comm comm, MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const std::uint64_t begin = ticks();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  std::uint64_t bytes = 0;
  if (CommunicatorUse *use = communicator_use(*state, comm)) {
    use->calls++;
    if (received(*state, *use->communicator, *result_status, ~std::uint64_t{0}, end - begin))
      bytes = received_bytes(*result_status);
  }
  count_call(*state, function, bytes, end - begin);
  add_waiting(*state, end - begin);
  state->record->newest = end;
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
  const std::uint64_t bytes = dest == MPI_PROC_NULL ? 0 : payload(*state, count, datatype);
  const std::uint64_t half = (end - begin) / 2;
  if (CommunicatorUse *use = message_use(*state, comm, dest)) sent(*state, *use, dest, bytes, half);
  if (CommunicatorUse *use = communicator_use(*state, comm))
    received(*state, *use->communicator, *result_status, ~std::uint64_t{0}, half);
  count_call(*state, function, bytes, end - begin);
  add_waiting(*state, end - begin);
  state->record->newest = end;
  return result;
}

// A non-blocking post: stamped if large or sampled. `then` gets the bytes and the ticks it stands for.
template <class Count, class Call, class Then>
int post(Function function, Count count, MPI_Datatype datatype, bool sends_bytes, Call &&call, Then &&then) {
  const Entry state;
  if (!state) return call();
  // Only what is known without asking MPI: the arguments may be wrong, and are MPI's to judge.
  const std::uint64_t known = known_payload(*state, count, datatype);
  const unsigned weight = known >= stamped_size ? 1 : state->stamp_weight();
  if (weight == 0) {
    const int result = call();
    if (result != MPI_SUCCESS) return result;
    then(*state, known, std::uint64_t{0});
    count_call(*state, function, sends_bytes ? known : 0);
    return result;
  }
  const std::uint64_t begin = ticks();
  const int result = call();
  const std::uint64_t duration = ticks() - begin;
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t bytes = payload(*state, count, datatype);
  then(*state, bytes, duration * weight);
  count_call(*state, function, sends_bytes ? bytes : 0, duration, weight);
  state->node->p2p_ticks += duration * weight;
  return result;
}

inline void keep_send(Function function, Node *node, const CommunicatorUse &use, int dest,
                      std::uint64_t bytes, MPI_Request handle, bool persistent) noexcept {
  Request *slot = request_slot(handle);
  if (slot == nullptr) return;
  const bool shared = !persistent && slot->kind == Pending::send && !slot->persistent;
  *slot = {.kind = Pending::send,
           .persistent = persistent,
           .active = !persistent,
           .shared = shared,
           .function = function,
           .partner = dest,
           .communicator = use.communicator,
           .bytes = bytes,
           .node = node};
}

inline void keep_receive(Function function, const CommunicatorUse *use, int source, std::uint64_t room,
                         MPI_Request handle, bool persistent = false) noexcept {
  if (use == nullptr) {
    clear_request(handle);
    return;
  }
  put_request(handle, {.kind = Pending::receive,
                       .persistent = persistent,
                       .active = !persistent,
                       .function = function,
                       .partner = source,
                       .communicator = use->communicator,
                       .bytes = room});
}

template <class Count, class Call>
int post_send(Function function, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
              MPI_Request *request, Call &&call) {
  return post(function, count, datatype, dest != MPI_PROC_NULL, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t duration) {
                CommunicatorUse *use = message_use(state, comm, dest);
                if (use == nullptr) {
                  clear_request(*request);
                  return;
                }
                sent(state, *use, dest, bytes, duration);
                keep_send(function, state.node, *use, dest, bytes, *request, false);
              });
}

template <class Count, class Call>
int post_receive(Function function, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                 MPI_Request *request, Call &&call) {
  return post(function, count, datatype, false, call,
              [&](ThreadState &state, std::uint64_t room, std::uint64_t /*duration*/) {
                CommunicatorUse *use = message_use(state, comm, source);
                if (use != nullptr) use->calls++;
                keep_receive(function, use, source, room, *request);
              });
}

template <class SendCount, class RecvCount, class Call>
int post_exchange(Function function, SendCount count, MPI_Datatype datatype, int dest, RecvCount recvcount,
                  MPI_Datatype recvtype, int source, MPI_Comm comm, MPI_Request *request, Call &&call) {
  return post(function, count, datatype, dest != MPI_PROC_NULL, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t duration) {
                if (CommunicatorUse *use = message_use(state, comm, dest))
                  sent(state, *use, dest, bytes, duration);
                const std::uint64_t room = payload(state, recvcount, recvtype);
                keep_receive(function, message_use(state, comm, source), source, room, *request);
              });
}

// Persistent requests count when they are started (sends) or complete (receives).
template <class Count, class Call>
int init_send(Function function, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
              MPI_Request *request, Call &&call) {
  return post(function, count, datatype, false, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t /*duration*/) {
                const CommunicatorUse *use = message_use(state, comm, dest);
                if (use == nullptr) {
                  clear_request(*request);
                  return;
                }
                keep_send(function, nullptr, *use, dest, bytes, *request, true);
              });
}

template <class Count, class Call>
int init_receive(Function function, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                 MPI_Request *request, Call &&call) {
  return post(function, count, datatype, false, call,
              [&](ThreadState &state, std::uint64_t room, std::uint64_t /*duration*/) {
                keep_receive(function, message_use(state, comm, source), source, room, *request, true);
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
  const Entry state;
  if (!state) return call();
  const std::uint64_t begin = ticks();
  const int result = call();
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  count_call(*state, function, 0, end - begin);
  add_waiting(*state, end - begin);
  return result;
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
  if (Request *slot = global.messages.slot(value_of(*message)))
    if (const CommunicatorUse *use = communicator_use(*state, comm))
      *slot = {.kind = Pending::receive, .communicator = use->communicator};
  return result;
}

// Taken out before the call, which frees the handle.
inline const Communicator *take_message(MPI_Message message) noexcept {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return nullptr;
  Request *slot = global.messages.slot(value_of(message));
  if (slot == nullptr || slot->kind == Pending::none) return nullptr;
  slot->kind = Pending::none;
  return slot->communicator;
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
  std::uint64_t bytes = 0;
  if (communicator != nullptr &&
      received(*state, *communicator, *result_status, ~std::uint64_t{0}, end - begin))
    bytes = received_bytes(*result_status);
  count_call(*state, function, bytes, end - begin);
  add_waiting(*state, end - begin);
  state->record->newest = end;
  return result;
}

template <class Count, class Call>
int post_receive_matched(Function function, Count count, MPI_Datatype datatype, const MPI_Message *message,
                         MPI_Request *request, Call &&call) {
  const Communicator *communicator = take_message(*message);
  return post(function, count, datatype, false, call,
              [&](ThreadState & /*state*/, std::uint64_t room, std::uint64_t /*duration*/) {
                if (communicator == nullptr) {
                  clear_request(*request);
                  return;
                }
                put_request(*request, {.kind = Pending::receive,
                                       .active = true,
                                       .function = function,
                                       .partner = -1,
                                       .communicator = communicator,
                                       .bytes = room});
              });
}

} // namespace haloscope::watch
