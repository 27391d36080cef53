// Completion of requests: counts received messages, and shares out the time of the call that completed them.
#pragma once

#include "watch/counting/claims.hpp"
#include "watch/counting/collectives.hpp"
#include "watch/counting/point_to_point.hpp"

#include <span>
#include <utility>

namespace haloscope::watch {

inline std::span<const MPI_Request> span_of(const MPI_Request *requests, int count) noexcept {
  return {requests, static_cast<std::size_t>(std::max(count, 0))};
}

inline void add_share(Node &node, Pending kind, std::uint64_t duration) noexcept {
  switch (kind) {
  case Pending::collective:
    node.coll_ticks += duration;
    break;
  case Pending::one_sided:
    node.rma_ticks += duration;
    break;
  case Pending::io:
    node.io_ticks += duration;
    break;
  default:
    node.p2p_ticks += duration;
    break;
  }
}

// A call's time is shared out in equal parts. The remainder, and the parts of unknown requests, count as p2p.
// So a region's sums contain all of the time in its call records.
inline std::uint64_t part_of(Node &node, std::uint64_t duration, std::size_t parts) noexcept {
  const std::uint64_t part = parts == 0 ? 0 : duration / parts;
  node.p2p_ticks += duration - part * parts;
  return part;
}

inline std::uint64_t message_of(const Request &request) noexcept {
  return request.has(Request::persistent) ? std::uint64_t{started_again} : message_of(request.function);
}

// A cancelled send counts as if it had not been, in the region where it was started.
[[gnu::noinline, gnu::cold]] inline void take_back_send(ThreadState &state, const Request &request) noexcept {
  Node *here = state.node;
  if (request.record != nullptr) state.node = request.record->partner->node;
  uncount_send(state, message_of(request), communicator_of(request), request.partner, request.bytes);
  state.node = here;
}

// The thread remembers the record for the next such receive.
[[gnu::noinline]] inline void count_new_arrival(ThreadState &state, const Request &request, int source,
                                                std::uint64_t bytes, std::uint64_t duration) noexcept {
  MessageRecord *record = count_receive(state, communicator_of(request), source, bytes, duration,
                                        request.has(Request::exchanging) ? exchanged : arrived);
  Post &post = state.posts[request.post];
  if (request.post != 0 && post.node == state.node && post.request.kind == Pending::receive &&
      post.request.communicator == request.communicator)
    post.request.record = record;
}

// Requests of any kind and state. Returns the bytes that it received.
[[gnu::noinline]] inline std::uint64_t complete_any(ThreadState &state, Request &request,
                                                    const MPI_Status &status,
                                                    std::uint64_t duration) noexcept {
  std::uint64_t bytes = 0;
  const Counting counting{state, request.memory()};
  const bool cancelled = request.has(Request::cancelling) && was_cancelled(status);
  add_share(*state.node, request.kind, duration);
  switch (request.kind) {
  case Pending::receive:
    if (cancelled || status.MPI_SOURCE < 0) break; // negative: MPI_PROC_NULL or an empty status
    // A truncated message may report the size that was sent.
    bytes = std::min(received_bytes(status), request.bytes);
    count_new_arrival(state, request, status.MPI_SOURCE, bytes, duration);
    break;
  case Pending::partitioned:
    bytes = request.bytes;
    count_receive(state, communicator_of(request), request.partner, bytes, duration);
    break;
  case Pending::send:
    if (cancelled)
      take_back_send(state, request);
    else if (duration != 0 && !request.has(Request::shared)) // which one that means is not known
      add_send_time(state, message_of(request), communicator_of(request), request.partner, request.bytes,
                    duration);
    break;
  case Pending::collective:
    add_collective_time(state, request.function, communicator_of(request), request.bytes, duration);
    break;
  case Pending::io: // a read; a write has no room
    bytes = std::min(received_bytes(status), std::uint64_t{request.bytes});
    state.node->io_bytes += bytes;
    break;
  default:
    break;
  }
  forget(request);
  return bytes;
}

// Sums over the plain requests of one call. The region gets them at the end.
struct Done {
  std::uint64_t receives = 0, bytes = 0, ticks = 0;

  void add_to(Node &node) const noexcept {
    node.now[recvs] += receives;
    node.now[bytes_recv] += bytes;
    node.p2p_ticks += ticks;
  }
};

// One completed request with its part of the call's time. Returns the bytes that it received.
[[gnu::always_inline]] inline std::uint64_t complete(ThreadState &state, Request &request,
                                                     const MPI_Status &status, std::uint64_t duration,
                                                     Done &done) noexcept {
  Node &node = *state.node;
  MessageRecord *record = request.record;
  if (is_traced(state)) trace_completion(state, state.completing, request, status);
  if (__builtin_expect(request.is_plain(Pending::receive), 1)) {
    const std::uint64_t bytes = std::min(received_bytes(status), request.bytes);
    if (__builtin_expect(is_current(record, node, status.MPI_SOURCE, bytes, arrived), 1)) {
      done.ticks += duration;
      done.receives++;
      done.bytes += bytes;
      count_message(node, *record, duration, first_receive_of_instance);
      request.kind = Pending::none;
      return bytes;
    }
  } else if (request.is_plain(Pending::send) &&
             (duration == 0 ||
              is_current(record, node, request.partner, request.bytes, message_of(request.function)))) {
    if (duration != 0) record->ticks += duration;
    done.ticks += duration;
    request.kind = Pending::none;
    return 0;
  }
  return complete_any(state, request, status, duration);
}
[[gnu::always_inline]] inline std::uint64_t
complete(ThreadState &state, Request &request, const MPI_Status &status, std::uint64_t duration) noexcept {
  Done done;
  const std::uint64_t bytes = complete(state, request, status, duration, done);
  done.add_to(*state.node);
  return bytes;
}

// Returns the bytes that a request received which may have failed.
[[gnu::noinline, gnu::cold]] inline std::uint64_t
complete_or_fail(ThreadState &state, Request &request, const MPI_Status &status, std::uint64_t duration) {
  if (status.MPI_ERROR == MPI_SUCCESS) return complete(state, request, status, duration);
  add_share(*state.node, request.kind, duration);
  if (status.MPI_ERROR != MPI_ERR_PENDING) forget(request);
  return 0;
}

// The completed requests of one call share its time in equal parts.
[[gnu::always_inline]] inline std::uint64_t complete_all(ThreadState &state, std::span<Request *> requests,
                                                         std::size_t active, const MPI_Status *statuses,
                                                         bool check_errors, std::uint64_t duration) {
  const std::uint64_t part = part_of(*state.node, duration, active);
  std::uint64_t bytes = 0;
  Done done;
  for (std::size_t i = 0; i < requests.size(); i++) {
    if (requests[i] == nullptr) continue;
    if (__builtin_expect(state.ring != nullptr, 0)) state.completing = state.numbers[i];
    if (__builtin_expect(check_errors, 0))
      bytes += complete_or_fail(state, *requests[i], statuses[i], part);
    else
      bytes += complete(state, *requests[i], statuses[i], part, done);
  }
  done.add_to(*state.node);
  return bytes;
}

// MPI_Waitany and MPI_Testany, after the call: the one that is complete, if any.
inline std::uint64_t complete_one(ThreadState &state, Claims &claims, int index, const MPI_Status &status,
                                  std::uint64_t duration) {
  std::uint64_t bytes = 0;
  Request *known = index == MPI_UNDEFINED ? nullptr : claims.request(static_cast<std::size_t>(index));
  if (known != nullptr && counts(*known))
    bytes = complete(state, *known, status, duration);
  else
    state.node->p2p_ticks += duration;
  claims.give_back();
  return bytes;
}

// MPI_Waitsome and MPI_Testsome, after the call: statuses are packed, in the order of the indices.
inline std::uint64_t complete_some(ThreadState &state, Claims &claims, std::span<const int> indices,
                                   const MPI_Status *statuses, bool check_errors, std::uint64_t duration) {
  const std::uint64_t part = part_of(*state.node, duration, indices.size());
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < indices.size(); k++) {
    Request *known = claims.request(static_cast<std::size_t>(indices[k]));
    if (known == nullptr || !counts(*known))
      state.node->p2p_ticks += part;
    else
      bytes += check_errors ? complete_or_fail(state, *known, statuses[k], part)
                            : complete(state, *known, statuses[k], part);
  }
  claims.give_back();
  return bytes;
}

inline std::span<const int> completed_indices(int result, int count, const int *indices) noexcept {
  const bool any = (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) && count != MPI_UNDEFINED;
  return {indices, any ? static_cast<std::size_t>(count) : 0};
}

} // namespace haloscope::watch
