// MPI_Waitany, MPI_Testany, MPI_Waitsome, MPI_Testsome, and the MPI_Request_get_status functions.
#pragma once

#include "hide/shm/holding.hpp"

namespace haloscope::shm {

inline Masked masked_requests(MPI_Request *handles, int count) {
  const Lock lock;
  return {handles, count};
}

// An error that was found under the lock, to be raised on the communicator that it is of.
struct Found {
  int result = MPI_SUCCESS, error = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_WORLD;
  [[nodiscard]] bool is_in_status() const noexcept {
    return result == MPI_ERR_IN_STATUS || error == MPI_ERR_IN_STATUS;
  }
  [[nodiscard]] int raised() const {
    return error == MPI_SUCCESS || result != MPI_SUCCESS ? result : raise(comm, error);
  }
};

// Finds a request that may complete, if there is one. `flag` is also set if none ever will.
inline Found try_any(Masked &masked, int count, int *index, int *flag, MPI_Status &status) {
  const Lock lock;
  *index = MPI_UNDEFINED;
  Found found;
  MPI_Request *ready = masked.refresh();
  if (const auto own = masked.own(0)) {
    *index = *own;
    *flag = 1;
    found.comm = masked.comm(*own);
    found.result = masked.update_own(*own, status, found.error);
    return found;
  }
  found.result = next.Testany(count, ready, index, flag, &status);
  if (found.result != MPI_SUCCESS) {
    if (*index >= 0 && *index < count) masked.fail(*index);
  } else if (*flag != 0 && *index != MPI_UNDEFINED) {
    found.comm = masked.comm(*index);
    found.error = masked.update(*index, status);
  } else if (*flag != 0 && masked.is_held()) {
    *flag = 0; // MPI has not seen the requests that are held back
  }
  return found;
}

inline Found try_some(Masked &masked, int count, int *done, int *indices, MPI_Status *statuses) {
  const Lock lock;
  Found found;
  found.result = next.Testsome(count, masked.refresh(), done, indices, statuses);
  const bool is_whole = found.result == MPI_SUCCESS || found.result == MPI_ERR_IN_STATUS;
  if (*done == MPI_UNDEFINED) {
    if (!masked.is_held() && !(is_whole && masked.own(0))) return found;
    *done = 0;
  }
  const auto note_error = [&](int at, int error, MPI_Comm comm) {
    if (error == MPI_SUCCESS) return;
    if (!found.is_in_status())
      for (int j = 0; j < *done; j++) statuses[j].MPI_ERROR = MPI_SUCCESS;
    statuses[at].MPI_ERROR = error;
    found.error = MPI_ERR_IN_STATUS;
    found.comm = comm;
  };
  // Errors that MPI found are in the statuses already.
  for (int i = 0; i < *done; i++) {
    if (found.result != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_SUCCESS) {
      masked.fail(indices[i]);
      continue;
    }
    const MPI_Comm comm = masked.comm(indices[i]);
    note_error(i, masked.update(indices[i], statuses[i]), comm);
  }
  for (auto own = is_whole ? masked.own(0) : std::nullopt; own; own = masked.own(*own + 1)) {
    const MPI_Comm comm = masked.comm(*own);
    int error = MPI_SUCCESS;
    indices[*done] = *own;
    masked.update_own(*own, statuses[*done], error);
    if (found.is_in_status()) statuses[*done].MPI_ERROR = MPI_SUCCESS;
    note_error(*done, error, comm);
    (*done)++;
  }
  return found;
}

template <class Call>
int wait_any(int count, MPI_Request *handles, int *index, MPI_Status *given, Call &&call) {
  if (!may_wait()) return call();
  const Entry entry;
  if (!entry) return call();
  Masked masked = masked_requests(handles, count);
  if (!masked && !must_poll()) return call();
  Status status{given};
  Waiting waiting;
  for (int flag = 0;; waiting()) {
    const int result = try_any(masked, count, index, &flag, *status()).raised();
    if (flag != 0 || result != MPI_SUCCESS) return result;
  }
}

template <class Call>
int test_any(int count, MPI_Request *handles, int *index, int *flag, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call();
  const Entry entry;
  if (!entry) return call();
  Masked masked = masked_requests(handles, count);
  if (!masked) return call();
  Status status{given};
  const int result = try_any(masked, count, index, flag, *status()).raised();
  if (*flag == 0) {
    const Lock lock;
    progress();
  }
  return result;
}

template <class Call>
int wait_some(int count, MPI_Request *handles, int *done, int *indices, MPI_Status *given, Call &&call) {
  if (!may_wait()) return call();
  const Entry entry;
  if (!entry) return call();
  Masked masked = masked_requests(handles, count);
  if (!masked && !must_poll()) return call();
  MPI_Status *statuses = statuses_for(count, given);
  for (Waiting waiting;; waiting()) {
    const int result = try_some(masked, count, done, indices, statuses).raised();
    if (*done != 0 || result != MPI_SUCCESS) return result;
  }
}

template <class Call>
int test_some(int count, MPI_Request *handles, int *done, int *indices, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call();
  const Entry entry;
  if (!entry) return call();
  Masked masked = masked_requests(handles, count);
  if (!masked) return call();
  const int result = try_some(masked, count, done, indices, statuses_for(count, given)).raised();
  if (*done == 0) {
    const Lock lock;
    progress();
  }
  return result;
}

// MPI_Request_get_status: nothing is completed.
template <class Call> int peek(MPI_Request handle, int *flag, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call(given);
  const Entry entry;
  if (!entry) return call(given);
  const Lock lock;
  Request *request = find(handle);
  if (request == nullptr) return call(given);
  if (!may_complete(*request)) {
    *flag = 0;
    progress();
    nudge();
    return MPI_SUCCESS;
  }
  Status status{given};
  const int result = call(status());
  if (result == MPI_SUCCESS && *flag != 0) peek_request(*request, *status());
  return result;
}

// MPI_Request_get_status_all.
template <class Call>
int peek_all(int count, const MPI_Request *handles, int *flag, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call(given);
  const Entry entry;
  if (!entry) return call(given);
  const Lock lock;
  std::vector<Request *> known;
  bool all = true;
  for (int i = 0; i < count; i++) {
    known.push_back(find(handles[i]));
    all = (known.back() == nullptr || may_complete(*known.back())) && all;
  }
  if (!all) {
    *flag = 0;
    progress();
    nudge();
    return MPI_SUCCESS;
  }
  MPI_Status *statuses = statuses_for(count, given);
  const int result = call(statuses);
  for (int i = 0; result == MPI_SUCCESS && *flag != 0 && i < count; i++)
    if (Request *request = known[static_cast<std::size_t>(i)]) peek_request(*request, statuses[i]);
  return result;
}

// Looks for the first `most` complete requests. `done` is MPI_UNDEFINED if none is active.
inline int peek_among(int count, const MPI_Request *handles, int most, int *done, int *indices,
                      MPI_Status *statuses) {
  const Lock lock;
  bool none = true;
  *done = 0;
  for (int i = 0; i < count && *done < most; i++) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    Request *request = find(handles[i]);
    if (request != nullptr && !request->active) continue;
    none = false;
    if (request != nullptr && !may_complete(*request)) continue;
    int flag = 0;
    const int result = next.Request_get_status(handles[i], &flag, statuses + *done);
    if (result != MPI_SUCCESS) return result;
    if (flag == 0) continue;
    if (request != nullptr) peek_request(*request, statuses[*done]);
    indices[(*done)++] = i;
  }
  if (none) *done = MPI_UNDEFINED;
  if (*done == 0) {
    progress();
    nudge();
  }
  return MPI_SUCCESS;
}

template <class Call>
int peek_any(int count, const MPI_Request *handles, int *index, int *flag, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call();
  const Entry entry;
  if (!entry) return call();
  Status status{given};
  int done = 0;
  *index = MPI_UNDEFINED;
  const int result = peek_among(count, handles, 1, &done, index, status());
  if (done == MPI_UNDEFINED) return call();
  *flag = done;
  return result;
}

template <class Call>
int peek_some(int count, const MPI_Request *handles, int *done, int *indices, MPI_Status *given,
              Call &&call) {
  if (!has_requests()) return call();
  const Entry entry;
  if (!entry) return call();
  return peek_among(count, handles, count, done, indices, statuses_for(count, given));
}

} // namespace haloscope::shm
