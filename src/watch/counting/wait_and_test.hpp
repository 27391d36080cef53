// The eight Wait and Test functions.
#pragma once

#include "watch/counting/completion.hpp"
#include "watch/counting/polling.hpp"

namespace haloscope::watch {

// Publishes the number of requests that the thread waits for, and the first of them if it is known.
[[gnu::always_inline]] inline void publish_requests(ThreadState &state, const Request *request,
                                                    std::size_t count) noexcept {
  if constexpr (!keeps_current_call) return;
  Doing &doing = state.doing;
  doing.count = static_cast<std::uint32_t>(count);
  doing.source = static_cast<std::int32_t>(request == nullptr ? Pending::none : request->kind);
  if (request != nullptr) {
    doing.partner = request->partner;
    doing.tag = request->tag;
    doing.communicator = request->communicator;
    doing.bytes = request->bytes;
  }
  doing.what = Doing::requests;
}

inline void count_wait(ThreadState &state, Function function, std::uint64_t bytes, std::uint64_t begin,
                       std::uint64_t end) noexcept {
  count_call(state, function, bytes, end - begin);
  note_call(state, function, begin, end, bytes);
  state.node->wait_ticks += end - begin;
  note_time(state, end);
}

[[gnu::always_inline]] inline void finish_wait(ThreadState &state, Function function, Request *known,
                                               const MPI_Status &status, std::uint64_t begin,
                                               std::uint64_t end) noexcept {
  std::uint64_t bytes = 0;
  if (known != nullptr && counts(*known))
    bytes = complete(state, *known, status, end - begin);
  else
    state.node->p2p_ticks += end - begin;
  count_wait(state, function, bytes, begin, end);
}

// Notes for the trace which request is completed next.
[[gnu::always_inline]] inline void note_handle(ThreadState &state, MPI_Request handle) noexcept {
  if (__builtin_expect(state.ring != nullptr, 0)) state.completing = number_of(state, handle);
}

template <class Call>
[[gnu::noinline]] int wait_taken(ThreadState &state, Function function, const MPI_Request *request,
                                 MPI_Status *status, Call &&call) {
  Claim claim{state, *request};
  note_handle(state, *request);
  const std::uint64_t begin = state.begin_call();
  publish_requests(state, claim.request(), 1);
  const int result = call(status);
  const std::uint64_t end = ticks();
  if (result == MPI_SUCCESS) finish_wait(state, function, claim.request(), *status, begin, end);
  return result;
}

template <class Call>
int wait(const Invocation &invoked, MPI_Request *request, MPI_Status *status, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  if (__builtin_expect(global().several_threads, 0))
    return wait_taken(*state, invoked, request, result_status, call);
  Request *known = request_slot(*state, *request);
  note_handle(*state, *request);
  const std::uint64_t begin = state->begin_call();
  publish_requests(*state, known, 1);
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (__builtin_expect(result == MPI_SUCCESS, 1))
    finish_wait(*state, invoked, known, *result_status, begin, end);
  return result;
}

// A successful test.
[[gnu::always_inline]] inline void count_test(ThreadState &state, Function function, std::uint64_t bytes,
                                              std::uint64_t begin, bool found) noexcept {
  count_call(state, function, bytes);
  count_poll(state, function, begin, found, bytes);
}

template <class Call>
[[gnu::noinline]] int test_taken(ThreadState &state, Function function, const MPI_Request *request,
                                 const int *flag, MPI_Status *status, Call &&call) {
  Claim claim{state, *request};
  note_handle(state, *request);
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  const std::uint64_t begin = begin_poll(state);
  const int result = call(result_status);
  if (result != MPI_SUCCESS) return result;
  std::uint64_t bytes = 0;
  if (*flag == 0)
    claim.give_back();
  else if (counts(*claim.request()))
    bytes = complete(state, *claim.request(), *result_status, 0);
  count_test(state, function, bytes, begin, *flag != 0);
  return result;
}

template <class Call>
int test(const Invocation &invoked, const MPI_Request *request, const int *flag, MPI_Status *status,
         Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  if (__builtin_expect(global().several_threads, 0))
    return test_taken(*state, invoked, request, flag, status, call);
  const MPI_Request handle = *request;
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  const std::uint64_t begin = begin_poll(*state);
  const int result = call(result_status);
  if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
  std::uint64_t bytes = 0;
  const bool found = *flag != 0;
  if (Request *known = found ? request_slot(*state, handle) : nullptr; known != nullptr && counts(*known)) {
    note_handle(*state, handle);
    bytes = complete(*state, *known, *result_status, 0);
  }
  count_test(*state, invoked, bytes, begin, found);
  return result;
}

// The statuses for a call, after make_room.
inline MPI_Status *status_for(ThreadState &state, MPI_Status *statuses) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? state.statuses.data() : statuses;
}

template <class Call>
int wait_all(const Invocation &invoked, int count, const MPI_Request *requests, MPI_Status *statuses,
             Call &&call) {
  const Entry state{invoked};
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  AllClaims claims{*state, all};
  MPI_Status *result_statuses = status_for(*state, statuses);
  const std::uint64_t begin = state->begin_call();
  publish_requests(*state, claims.first(), all.size());
  const int result = call(result_statuses);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) {
    claims.give_back();
    return result;
  }
  const std::uint64_t bytes = complete_all(*state, claims.requests(), claims.active(), result_statuses,
                                           result == MPI_ERR_IN_STATUS, end - begin);
  claims.give_back();
  count_wait(*state, invoked, bytes, begin, end);
  return result;
}

template <class Call>
int test_all(const Invocation &invoked, int count, const MPI_Request *requests, const int *flag,
             MPI_Status *statuses, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = status_for(*state, statuses);
  const std::uint64_t begin = begin_poll(*state);
  const int result = call(result_statuses);
  std::uint64_t bytes = 0;
  if (result == MPI_ERR_IN_STATUS || (result == MPI_SUCCESS && *flag != 0))
    for (std::size_t i = 0; i < all.size(); i++)
      if (Request *known = claims.request(i); known != nullptr && counts(*known))
        bytes += result == MPI_SUCCESS ? complete(*state, *known, result_statuses[i], 0)
                                       : complete_or_fail(*state, *known, result_statuses[i], 0);
  claims.give_back();
  if (result == MPI_SUCCESS) count_test(*state, invoked, bytes, begin, *flag != 0);
  return result;
}

template <class Call>
int wait_any(const Invocation &invoked, int count, const MPI_Request *requests, const int *index,
             MPI_Status *status, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  Claims claims{*state, span_of(requests, count)};
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  const std::uint64_t begin = state->begin_call();
  publish_requests(*state, nullptr, static_cast<std::size_t>(std::max(count, 0)));
  const int result = call(result_status);
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) {
    claims.give_back();
    return result;
  }
  const std::uint64_t bytes = complete_one(*state, claims, *index, *result_status, end - begin);
  count_wait(*state, invoked, bytes, begin, end);
  return result;
}

template <class Call>
int test_any(const Invocation &invoked, int count, const MPI_Request *requests, const int *index,
             const int *flag, MPI_Status *status, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(status);
  Claims claims{*state, span_of(requests, count)};
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  const std::uint64_t begin = begin_poll(*state);
  const int result = call(result_status);
  const bool found = result == MPI_SUCCESS && *flag != 0;
  const std::uint64_t bytes = complete_one(*state, claims, found ? *index : MPI_UNDEFINED, *result_status, 0);
  if (result == MPI_SUCCESS) count_test(*state, invoked, bytes, begin, *flag != 0);
  return result;
}

template <class Call>
int wait_some(const Invocation &invoked, int count, const MPI_Request *requests, const int *outcount,
              const int *indices, MPI_Status *statuses, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = status_for(*state, statuses);
  const std::uint64_t begin = state->begin_call();
  publish_requests(*state, nullptr, all.size());
  const int result = call(result_statuses);
  const std::uint64_t end = ticks();
  const auto done = completed_indices(result, *outcount, indices);
  const bool counted = result == MPI_SUCCESS || !done.empty();
  const std::uint64_t bytes = complete_some(*state, claims, done, result_statuses,
                                            result == MPI_ERR_IN_STATUS, counted ? end - begin : 0);
  if (counted) count_wait(*state, invoked, bytes, begin, end);
  return result;
}

template <class Call>
int test_some(const Invocation &invoked, int count, const MPI_Request *requests, const int *outcount,
              const int *indices, MPI_Status *statuses, Call &&call) {
  const Entry state{invoked};
  if (!state) return call(statuses);
  const auto all = span_of(requests, count);
  Claims claims{*state, all};
  MPI_Status *result_statuses = status_for(*state, statuses);
  const std::uint64_t begin = begin_poll(*state);
  const int result = call(result_statuses);
  const auto done = completed_indices(result, *outcount, indices);
  const std::uint64_t bytes =
      complete_some(*state, claims, done, result_statuses, result == MPI_ERR_IN_STATUS, 0);
  if (result == MPI_SUCCESS) count_test(*state, invoked, bytes, begin, *outcount != 0);
  return result;
}

} // namespace haloscope::watch
