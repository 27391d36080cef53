// Behind the wrappers of functions that look at requests and complete nothing.
#pragma once

#include "hide/layer/calls.hpp"

namespace haloscope::stencil::layer {

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
  if (result == MPI_SUCCESS && *flag != 0) peeked(*request, *status());
  return result;
}

// Its kin of MPI 4.1.
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
    if (Request *request = known[static_cast<std::size_t>(i)]) peeked(*request, statuses[i]);
  return result;
}

// The first `most` of those that are complete; `done` is MPI_UNDEFINED where none is active.
inline int peek_among(int count, const MPI_Request *handles, int most, int *done, int *indices,
                      MPI_Status *statuses) {
  const Lock lock;
  bool none = true;
  *done = 0;
  for (int i = 0; i < count && *done < most; i++) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    none = false;
    Request *request = find(handles[i]);
    if (request != nullptr && !may_complete(*request)) continue;
    int flag = 0;
    const int result = next.Request_get_status(handles[i], &flag, statuses + *done);
    if (result != MPI_SUCCESS) return result;
    if (flag == 0) continue;
    if (request != nullptr) peeked(*request, statuses[*done]);
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

} // namespace haloscope::stencil::layer
