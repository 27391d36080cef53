// The Wait, Test and MPI_Request_get_status functions: they hold messages back until they arrive.
#pragma once

#include "hide/inject/held.hpp"
#include "hide/inject/injection.hpp"

namespace haloscope::inject {

using interpose::Status;

// Of a message for which there was too little room the stamp must not stay behind for the next one of its
// tag.
inline void wait_for_message(int result, MPI_Comm comm, const MPI_Status &status) {
  if (has_message(result))
    wait_until(arrival(communicator_of(comm), status, result == MPI_SUCCESS).value_or(0));
}

template <class Call> int wait(MPI_Request *request, MPI_Status *given, Call &&call) {
  const Entry entry;
  const Kept waiting = entry ? known(*request) : nullptr;
  if (!waiting) return call(given);
  const Completing completing{{&waiting, 1}};
  Status status{given};
  const int result = call(status());
  const Moment due = has_message(result) ? due_of(*waiting, *status()) : 0;
  complete(waiting, result);
  wait_until(due);
  return result;
}

template <class Call> int test(MPI_Request *request, int *flag, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  const Kept waiting = known(*request);
  Moment due = INT64_MAX;
  if (!may_complete(waiting, due)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const Completing completing{{&waiting, 1}};
  Status status{given};
  const int result = call(status());
  if (result != MPI_SUCCESS || *flag != 0) complete_at_once(waiting, result, *status());
  return result;
}

template <class Call>
int peek_all(int count, const MPI_Request *requests, int *flag, MPI_Status *statuses, Call &&call) {
  const Entry entry;
  Moment due = INT64_MAX;
  for (int i = 0; entry && i < count; i++)
    if (!may_complete(known(requests[i]), due)) {
      *flag = 0;
      return MPI_SUCCESS;
    }
  return call(statuses);
}

template <class Call> int peek(MPI_Request request, int *flag, MPI_Status *status, Call &&call) {
  return peek_all(1, &request, flag, status, call);
}

template <class Call>
int peek_any(int count, const MPI_Request *requests, int *index, int *flag, MPI_Status *status, Call &&call) {
  const Entry entry;
  return entry ? peeked_any(count, requests, index, flag, status) : call();
}

template <class Call>
int peek_some(int count, const MPI_Request *requests, int *done, int *indices, MPI_Status *statuses,
              Call &&call) {
  const Entry entry;
  return entry ? peeked_some(count, requests, done, indices, statuses) : call();
}

template <class Call> int wait_all(int count, MPI_Request *requests, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry || count <= 0) return call(given);
  const auto waiting = known(requests, count);
  const Completing completing{waiting};
  std::vector<MPI_Status> own(given == MPI_STATUSES_IGNORE ? waiting.size() : 0);
  MPI_Status *statuses = own.empty() ? given : own.data();
  const int result = call(statuses);
  Moment due = 0;
  for (std::size_t i = 0; i < waiting.size(); i++) {
    if (!waiting[i]) continue;
    const int error = result == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : result;
    if (error == MPI_ERR_PENDING) continue;
    if (has_message(error)) due = std::max(due, due_of(*waiting[i], statuses[i]));
    complete(waiting[i], error);
  }
  wait_until(due);
  return result;
}

template <class Call>
int test_all(int count, MPI_Request *requests, int *flag, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry || count <= 0) return call(given);
  const auto waiting = known(requests, count);
  if (!Masked{requests, count}.is_all_ready()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const Completing completing{waiting};
  std::vector<MPI_Status> own(given == MPI_STATUSES_IGNORE ? waiting.size() : 0);
  MPI_Status *statuses = own.empty() ? given : own.data();
  const int result = call(statuses);
  for (std::size_t i = 0; (result != MPI_SUCCESS || *flag != 0) && i < waiting.size(); i++) {
    const int error = result == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : result;
    if (error != MPI_ERR_PENDING) complete_at_once(waiting[i], error, statuses[i]);
  }
  return result;
}

template <class Call>
int test_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status, Call &&call) {
  const Entry entry;
  Moment due = INT64_MAX;
  return entry && count > 0 ? try_any(count, requests, index, flag, status, due) : call();
}

template <class Call>
int wait_any(int count, MPI_Request *requests, int *index, MPI_Status *status, Call &&call) {
  const Entry entry;
  if (!entry || count <= 0) return call();
  for (;;) {
    int flag = 0;
    Moment due = 0;
    const int result = try_any(count, requests, index, &flag, status, due);
    if (result != MPI_SUCCESS || flag != 0) return result;
    wait_until(due);
  }
}

template <class Call>
int test_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses, Call &&call) {
  const Entry entry;
  Moment due = INT64_MAX;
  return entry && count > 0 ? try_some(count, requests, done, indices, statuses, due) : call();
}

template <class Call>
int wait_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses, Call &&call) {
  const Entry entry;
  if (!entry || count <= 0) return call();
  for (;;) {
    Moment due = 0;
    const int result = try_some(count, requests, done, indices, statuses, due);
    if (result != MPI_SUCCESS || *done != 0) return result; // MPI_UNDEFINED as well
    wait_until(due);
  }
}

} // namespace haloscope::inject
