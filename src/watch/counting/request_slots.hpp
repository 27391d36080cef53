// The records of requests and communicators that a call uses.
#pragma once

#include "watch/counting/noting.hpp"
#include "watch/counting/state.hpp"

namespace haloscope::watch {

// Nothing is known of the handles without an object of their own.
inline bool has_slot(MPI_Request handle) noexcept {
  return handle != MPI_REQUEST_NULL && !is_finished(handle);
}
[[gnu::always_inline]] inline Request *request_slot(ThreadState &state, MPI_Request handle) noexcept {
  return has_slot(handle) ? pending_requests.slot(value_of(handle), state.recent_requests) : nullptr;
}
inline Request *request_slot(MPI_Request handle) noexcept {
  return has_slot(handle) ? pending_requests.slot(value_of(handle)) : nullptr;
}
inline void put_request(ThreadState &state, MPI_Request handle, const Request &request) noexcept {
  if (Request *slot = request_slot(state, handle)) *slot = request;
}
// The same for a remembered post, whose tag may be different.
inline void put_request(ThreadState &state, MPI_Request handle, const Request &request,
                        std::int32_t tag) noexcept {
  Request *slot = request_slot(state, handle);
  if (slot == nullptr) return;
  *slot = request;
  slot->tag = tag;
}
inline void clear_request(ThreadState &state, MPI_Request handle) noexcept {
  if (Request *slot = request_slot(state, handle)) slot->kind = Pending::none;
}
inline void clear_request(MPI_Request handle) noexcept {
  if (Request *slot = request_slot(handle)) slot->kind = Pending::none;
}

// The thread's use of a communicator; nullptr if there is no memory for it.
[[gnu::always_inline]] inline CommunicatorUse *communicator_use(ThreadState &state, MPI_Comm comm) noexcept {
  const std::uintptr_t value = value_of(comm);
  const CachedUse &cached = state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached];
  if (__builtin_expect(cached.handle == comm && cached.use != nullptr, 1)) return cached.use;
  return look_up_communicator(state, comm);
}

// The same before the call, whose arguments MPI has not judged yet: nullptr unless the handle is known.
[[gnu::always_inline]] inline CommunicatorUse *known_use(ThreadState &state, MPI_Comm comm) noexcept {
  const std::uintptr_t value = value_of(comm);
  const CachedUse &cached = state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached];
  if (__builtin_expect(cached.handle == comm && cached.use != nullptr, 1)) return cached.use;
  return is_known_communicator(comm) ? look_up_communicator(state, comm) : nullptr;
}

// The neighbours in a communicator of which `communicator_use` has returned the use; nullptr if there are
// none.
inline const Neighbors *neighbors_of(ThreadState &state, MPI_Comm comm) noexcept {
  const std::uintptr_t value = value_of(comm);
  const CachedUse &cached = state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached];
  return cached.handle == comm ? cached.neighbors : nullptr;
}

// The thread's use of a message's communicator; nullptr too where there is no message.
inline CommunicatorUse *message_use(ThreadState &state, MPI_Comm comm, int rank) noexcept {
  return rank == MPI_PROC_NULL ? nullptr : communicator_use(state, comm);
}

// A message whose like was not there before: the communicator's number costs a look.
[[gnu::noinline]] inline std::uint32_t known_number(ThreadState &state, MPI_Comm comm) noexcept {
  const CommunicatorUse *use = known_use(state, comm);
  return use == nullptr ? 0 : use->communicator->number;
}

// Returns whether it counted: MPI_PROC_NULL (negative in every MPI) and empty statuses do not.
[[gnu::always_inline]] inline bool count_if_received(ThreadState &state, const Communicator &communicator,
                                                     const MPI_Status &status, std::uint64_t bytes,
                                                     std::uint64_t duration,
                                                     Message message = arrived) noexcept {
  if (__builtin_expect(status.MPI_SOURCE < 0, 0)) return false;
  count_receive(state, communicator, status.MPI_SOURCE, bytes, duration, message);
  return true;
}

inline MPI_Status *status_for(MPI_Status *status, MPI_Status &own) noexcept {
  return status == MPI_STATUS_IGNORE ? &own : status;
}

inline void add_waiting(const Recorder &state, std::uint64_t duration) noexcept {
  state.node->p2p_ticks += duration;
  state.node->wait_ticks += duration;
}

// Whether several finished sends may have one handle.
#if defined(HALOSCOPE_ABI_OPENMPI)
inline constexpr bool shares_handles = false; // but for one, which has no slot
#else
inline constexpr bool shares_handles = true;
#endif

[[gnu::always_inline]] inline void keep_send(ThreadState &state, MPI_Request handle, const Request &request,
                                             std::int32_t tag) noexcept {
  Request *slot = request_slot(state, handle);
  if (slot == nullptr) return;
  const bool shared = shares_handles && slot->kind == Pending::send && !slot->has(Request::persistent);
  *slot = request;
  slot->tag = tag;
  if (shares_handles && shared && !request.has(Request::persistent)) slot->flags |= Request::shared;
}

inline void keep_receive(ThreadState &state, const Invocation &invoked, const CommunicatorUse *use,
                         int source, std::uint64_t room, MPI_Request handle, std::uint8_t flags) noexcept {
  const Memory memory = (flags & Request::exchanging) != 0 ? invoked.into : invoked.memory;
  if (use == nullptr)
    clear_request(state, handle);
  else
    put_request(state, handle,
                {.kind = Pending::receive,
                 .flags = static_cast<std::uint8_t>(flags | Request::flags_of(memory)),
                 .function = invoked,
                 .partner = source,
                 .communicator = use->communicator->number,
                 .tag = invoked.tag,
                 .bytes = room});
}

} // namespace haloscope::watch
