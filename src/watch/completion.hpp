// The eight Wait and Test forms, MPI_Start and MPI_Request_free.
//
// A request's slot must be taken out before the call under MPI_THREAD_MULTIPLE: the library may give
// the handle to another thread's new request before the call returns. With one thread it is read
// after the call, which leaves polls cheap.
#pragma once

#include "collectives.hpp"
#include "point_to_point.hpp"

#include <cstring>
#include <span>
#include <utility>

namespace haloscope::watch {

inline bool counts(const Request &request) noexcept {
  return request.kind != Pending::none && request.active;
}

// Forgets a request that is complete; a persistent one becomes inactive.
inline void forget(Request &slot) noexcept {
  if (slot.persistent)
    slot.active = false;
  else if (!slot.shared)
    slot.kind = Pending::none;
}

// What is known of one handle, before and after the call that completes it.
class Claim {
public:
  explicit Claim(MPI_Request handle) noexcept : slot_(request_slot(handle)) {
    if (!global.several_threads || slot_ == nullptr) return;
    taken_ = *slot_;
    forget(*slot_);
  }
  // After the call; nullptr if nothing is known.
  Request *request() noexcept { return global.several_threads && slot_ != nullptr ? &taken_ : slot_; }
  // It is not complete.
  void give_back() noexcept {
    if (global.several_threads && slot_ != nullptr) *slot_ = taken_;
  }

private:
  Request *slot_;
  Request taken_;
};

// The same for the handles of one call.
class Claims {
public:
  Claims(ThreadState &state, std::span<const MPI_Request> handles) : state_(state), count_(handles.size()) {
    if (state.handles.size() < count_) grow();
    if (count_ != 0) std::memcpy(state.handles.data(), handles.data(), handles.size_bytes());
    if (global.several_threads) take();
  }

  // After the call: what is known of the i-th; nullptr if nothing is.
  Request *request(std::size_t i) noexcept {
    return global.several_threads ? &state_.taken[i] : request_slot(state_.handles[i]);
  }
  // Ends the call: what has not been forgotten stays known.
  void give_back() noexcept {
    if (!global.several_threads) return;
    for (std::size_t i = 0; i < count_; i++)
      if (state_.taken[i].kind != Pending::none) put_request(state_.handles[i], state_.taken[i]);
  }

private:
  [[gnu::noinline]] void grow() {
    state_.handles.resize(count_ * 2);
    state_.taken.resize(count_ * 2);
    state_.known.resize(count_ * 2);
  }
  [[gnu::noinline]] void take() noexcept {
    for (std::size_t i = 0; i < count_; i++) {
      Request *slot = request_slot(state_.handles[i]);
      state_.taken[i] = slot == nullptr ? Request{} : *slot;
      if (slot != nullptr) forget(*slot);
    }
  }

  ThreadState &state_;
  std::size_t count_;
};

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

// A cancelled send counts as if it had not been, in the region where it was started.
[[gnu::cold]] inline void take_back_send(ThreadState &state, const Request &request) noexcept {
  if (request.node == nullptr) return;
  Node *here = std::exchange(state.node, request.node);
  uncount_send(state, partner(state, *request.communicator, request.partner), request.bytes);
  call_record(state, request.function).bytes -= request.bytes;
  state.node = here;
}

// One completed request with its part of the call's time. Returns the bytes that it received.
inline std::uint64_t complete(ThreadState &state, Request &request, const MPI_Status &status,
                              std::uint64_t duration) noexcept {
  std::uint64_t bytes = 0;
  add_share(*state.node, request.kind, duration);
  if (request.kind == Pending::receive) {
    if (received(state, *request.communicator, status, request.bytes, duration))
      bytes = std::min(received_bytes(status), request.bytes);
  } else if (request.kind == Pending::partitioned) {
    bytes = request.bytes;
    count_receive(state, partner(state, *request.communicator, request.partner), bytes, duration);
  } else if (request.kind == Pending::send && request.cancelling && was_cancelled(status)) {
    take_back_send(state, request);
  } else if (request.kind == Pending::send) {
    // Which of the sends a shared handle means is not known; they are complete when posted.
    if (duration != 0 && !request.shared)
      add_send_time(state, partner(state, *request.communicator, request.partner), request.bytes, duration);
  } else if (request.kind == Pending::collective) {
    add_collective_time(state, request.function, request.communicator->size, request.bytes, duration);
  }
  forget(request);
  return bytes;
}

inline void waited(ThreadState &state, Function function, std::uint64_t bytes, std::uint64_t begin,
                   std::uint64_t end) noexcept {
  count_call(state, function, bytes, end - begin);
  state.node->wait_ticks += end - begin;
  state.record->newest = end;
}

template <class Call> int wait(Function function, MPI_Request *request, MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  Claim claim{*request};
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const std::uint64_t begin = ticks();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  std::uint64_t bytes = 0;
  Request *known = claim.request();
  if (known != nullptr && counts(*known))
    bytes = complete(*state, *known, *result_status, end - begin);
  else
    state->node->p2p_ticks += end - begin;
  waited(*state, function, bytes, begin, end);
  return result;
}

template <class Call>
int test(Function function, MPI_Request *request, const int *flag, MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  Claim claim{*request};
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const int result = call(result_status);
  if (result != MPI_SUCCESS) return result;
  std::uint64_t bytes = 0;
  if (*flag == 0)
    claim.give_back();
  else if (Request *known = claim.request(); known != nullptr && counts(*known))
    bytes = complete(*state, *known, *result_status, 0);
  count_call(*state, function, bytes);
  return result;
}

inline MPI_Status *usable(ThreadState &state, MPI_Status *statuses, std::size_t count) {
  if (statuses != MPI_STATUSES_IGNORE) return statuses;
  if (state.statuses.size() < count) state.statuses.resize(count * 2);
  return state.statuses.data();
}

// The completed requests of one call share its time in equal parts.
inline std::uint64_t complete_all(ThreadState &state, Claims &claims, std::size_t count,
                                  const MPI_Status *statuses, bool check_errors, std::uint64_t duration) {
  std::size_t active = 0;
  Request **known = state.known.data();
  for (std::size_t i = 0; i < count; i++) {
    known[i] = claims.request(i);
    if (known[i] != nullptr && !counts(*known[i])) known[i] = nullptr;
    if (known[i] != nullptr) active++;
  }
  const std::uint64_t part = active == 0 ? 0 : duration / active;
  state.node->p2p_ticks += duration - part * active;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; i++) {
    if (known[i] == nullptr) continue;
    if (check_errors && statuses[i].MPI_ERROR == MPI_ERR_PENDING) continue;
    if (check_errors && statuses[i].MPI_ERROR != MPI_SUCCESS)
      forget(*known[i]);
    else
      bytes += complete(state, *known[i], statuses[i], part);
  }
  claims.give_back();
  return bytes;
}

inline std::span<const MPI_Request> span_of(const MPI_Request *requests, int count) noexcept {
  return {requests, static_cast<std::size_t>(std::max(count, 0))};
}

template <class Call>
int wait_all(Function function, int count, const MPI_Request *requests, MPI_Status *statuses, Call &&call) {
  const Entry state;
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = usable(*state, statuses, all.size());
  const std::uint64_t begin = ticks();
  const int result = call(result_statuses);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) {
    claims.give_back();
    return result;
  }
  const std::uint64_t bytes =
      complete_all(*state, claims, all.size(), result_statuses, result == MPI_ERR_IN_STATUS, end - begin);
  waited(*state, function, bytes, begin, end);
  return result;
}

template <class Call>
int test_all(Function function, int count, const MPI_Request *requests, const int *flag, MPI_Status *statuses,
             Call &&call) {
  const Entry state;
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = usable(*state, statuses, all.size());
  const int result = call(result_statuses);
  std::uint64_t bytes = 0;
  if (result == MPI_ERR_IN_STATUS || (result == MPI_SUCCESS && *flag != 0))
    bytes = complete_all(*state, claims, all.size(), result_statuses, result == MPI_ERR_IN_STATUS, 0);
  else
    claims.give_back();
  if (result == MPI_SUCCESS) count_call(*state, function, bytes);
  return result;
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

template <class Call>
int wait_any(Function function, int count, const MPI_Request *requests, const int *index, MPI_Status *status,
             Call &&call) {
  const Entry state;
  if (!state) return call(status);
  Claims claims{*state, span_of(requests, count)};
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const std::uint64_t begin = ticks();
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) {
    claims.give_back();
    return result;
  }
  const std::uint64_t bytes = complete_one(*state, claims, *index, *result_status, end - begin);
  waited(*state, function, bytes, begin, end);
  return result;
}

template <class Call>
int test_any(Function function, int count, const MPI_Request *requests, const int *index, const int *flag,
             MPI_Status *status, Call &&call) {
  const Entry state;
  if (!state) return call(status);
  Claims claims{*state, span_of(requests, count)};
  MPI_Status own;
  MPI_Status *result_status = usable(status, own);
  const int result = call(result_status);
  const bool found = result == MPI_SUCCESS && *flag != 0;
  const std::uint64_t bytes = complete_one(*state, claims, found ? *index : MPI_UNDEFINED, *result_status, 0);
  if (result == MPI_SUCCESS) count_call(*state, function, bytes);
  return result;
}

// MPI_Waitsome and MPI_Testsome, after the call: statuses are packed, in the order of the indices.
inline std::uint64_t complete_some(ThreadState &state, Claims &claims, std::span<const int> indices,
                                   const MPI_Status *statuses, bool check_errors, std::uint64_t duration) {
  const std::uint64_t part = indices.empty() ? 0 : duration / indices.size();
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < indices.size(); k++) {
    Request *known = claims.request(static_cast<std::size_t>(indices[k]));
    if (known == nullptr || !counts(*known)) continue;
    if (check_errors && statuses[k].MPI_ERROR != MPI_SUCCESS)
      forget(*known);
    else
      bytes += complete(state, *known, statuses[k], part);
  }
  if (indices.empty()) state.node->p2p_ticks += duration;
  claims.give_back();
  return bytes;
}

inline std::span<const int> completed(int result, int count, const int *indices) noexcept {
  const bool any = (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) && count != MPI_UNDEFINED;
  return {indices, any ? static_cast<std::size_t>(count) : 0};
}

template <class Call>
int wait_some(Function function, int count, const MPI_Request *requests, const int *outcount,
              const int *indices, MPI_Status *statuses, Call &&call) {
  const Entry state;
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = usable(*state, statuses, all.size());
  const std::uint64_t begin = ticks();
  const int result = call(result_statuses);
  const std::uint64_t end = ticks();
  const auto done = completed(result, *outcount, indices);
  const std::uint64_t bytes =
      complete_some(*state, claims, done, result_statuses, result == MPI_ERR_IN_STATUS, end - begin);
  if (result == MPI_SUCCESS || !done.empty()) waited(*state, function, bytes, begin, end);
  return result;
}

template <class Call>
int test_some(Function function, int count, const MPI_Request *requests, const int *outcount,
              const int *indices, MPI_Status *statuses, Call &&call) {
  const Entry state;
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = usable(*state, statuses, all.size());
  const int result = call(result_statuses);
  const auto done = completed(result, *outcount, indices);
  const std::uint64_t bytes =
      complete_some(*state, claims, done, result_statuses, result == MPI_ERR_IN_STATUS, 0);
  if (result == MPI_SUCCESS) count_call(*state, function, bytes);
  return result;
}

// A persistent operation begins.
inline void started(ThreadState &state, Request &request, std::uint64_t duration) noexcept {
  request.active = true;
  if (request.kind == Pending::send && request.persistent) {
    Partner &to = partner(state, *request.communicator, request.partner);
    count_send(state, to, request.bytes, duration);
    request.node = state.node;
    request.cancelling = false;
  } else if (request.kind == Pending::collective) {
    count_collective(state, request.function, request.communicator->size, request.bytes, duration);
    if (request.flows != nullptr)
      for (const Flow &flow : *request.flows) count_flow(state, *request.communicator, flow);
  }
}

// MPI_Start and MPI_Startall.
template <class Call> int start(Function function, int count, const MPI_Request *requests, Call &&call) {
  const Entry state;
  if (!state) return call();
  const auto all = span_of(requests, count);
  const std::uint64_t begin = ticks();
  const int result = call();
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t part = all.empty() ? 0 : (end - begin) / all.size();
  for (const MPI_Request handle : all)
    if (Request *slot = request_slot(handle)) {
      started(*state, *slot, part);
      add_share(*state->node, slot->kind, part);
    }
  count_call(*state, function, 0, end - begin);
  return result;
}

template <class Call> int cancel(Function function, const MPI_Request *request, Call &&call) {
  const int result = poll(function, call);
  if (result != MPI_SUCCESS) return result;
  if (Request *slot = request_slot(*request)) slot->cancelling = true;
  return result;
}

// A receive that is freed before it is complete can never be observed.
template <class Call> int free_request(Function function, const MPI_Request *request, Call &&call) {
  const Entry state;
  const MPI_Request handle = *request;
  if (Request *slot = request_slot(handle); slot != nullptr && !slot->shared) {
    delete slot->flows;
    *slot = {};
  }
  const int result = call();
  if (state && result == MPI_SUCCESS) count_call(*state, function, 0);
  return result;
}

} // namespace haloscope::watch
