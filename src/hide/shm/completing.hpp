// Functions that start, cancel and free requests, and MPI_Wait, MPI_Test, MPI_Waitall and MPI_Testall.
#pragma once

#include "hide/shm/holding.hpp"

namespace haloscope::shm {

template <class Call> int start(int count, MPI_Request *requests, Call &&call) {
  if (!has_requests()) return call();
  const Entry entry;
  if (!entry) return call();
  // One after the other, because messages must not overtake.
  for (int i = 0; i < count; i++) {
    {
      const Lock lock;
      if (const auto result = start_request(requests[i])) {
        if (*result != MPI_SUCCESS) return *result;
        continue;
      }
    }
    if (const int result = next.Start(requests + i); result != MPI_SUCCESS) return result;
    const Lock lock;
    if (Request *request = find(requests[i])) add_pending(*request);
  }
  return MPI_SUCCESS;
}

template <class Call> int cancel(MPI_Request *handle, Call &&call) {
  const Entry entry;
  if (!entry) return call();
  {
    const Lock lock;
    Request *request = find(*handle);
    if (request != nullptr) request->cancelled = true;
    if (request != nullptr && request->kind == Request::Kind::send) return MPI_SUCCESS;
  }
  return call();
}

template <class Call> int free_request(MPI_Request *handle, Call &&call) {
  const Entry entry;
  if (!entry) return call();
  const Lock lock;
  Request *request = find(*handle);
  if (request == nullptr) return call();
  const bool is_over = request->kind == Request::Kind::send && request->there;
  if (!request->active || is_over) {
    erase(request);
    drop(request);
    return call();
  }
  abandon(request);
  if (request->kind == Request::Kind::receive) {
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  if (!request->persistent) complete_handle(*handle);
  request->persistent = true;
  return call();
}

// Returns the result for the program of a request that MPI has completed, with or without an error.
inline int conclude_posted(Request *request, MPI_Status &status, int result) {
  MPI_Comm comm;
  int error = MPI_SUCCESS;
  {
    const Lock lock;
    comm = request->comm;
    if (result != MPI_SUCCESS) request->there = true;
    error = complete_request(request, status);
  }
  return result == MPI_SUCCESS ? raise(comm, error) : result;
}

template <class Call> int wait(MPI_Request *handle, MPI_Status *given, Call &&call) {
  if (!may_wait()) return call(given);
  const auto waits = [&](MPI_Status *status) { return wait_for(handle, status, call); };
  Target target;
  bool small = false;
  {
    const Lock lock;
    small = take_small(*handle, target);
  }
  if (small) return complete_small(target, given, waits);
  const Entry entry;
  if (!entry) return call(given);
  Request *request = nullptr;
  {
    const Lock lock;
    request = find(*handle);
  }
  if (request == nullptr) return waits(given);
  wait_until_ready(*request);
  {
    const Lock lock;
    leave(request);
  }
  Status status{given};
  const int result = waits(status());
  return conclude_posted(request, *status(), result);
}

template <class Call> int test(MPI_Request *handle, int *flag, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call(given);
  const Entry entry;
  if (!entry) return call(given);
  Request *request = nullptr;
  Target target{};
  bool small = false;
  const MPI_Request before = *handle;
  {
    const Lock lock;
    small = take_small(before, target);
    if (!small) request = find(before);
    if (request != nullptr && !may_complete(*request)) {
      *flag = 0;
      progress();
      if (request->kind == Request::Kind::send) nudge();
      return MPI_SUCCESS;
    }
    if (request != nullptr) leave(request);
  }
  Status status{given};
  const int result = call(status());
  if (result == MPI_SUCCESS && *flag == 0) {
    const Lock lock;
    if (small)
      note_small(before, target);
    else if (request != nullptr)
      come_back(request);
    progress();
    return result;
  }
  if (small) return end_small(target, *status(), result);
  if (request == nullptr) return result;
  return conclude_posted(request, *status(), result);
}

template <class Call> int wait_all(int count, MPI_Request *handles, MPI_Status *given, Call &&call) {
  if (!may_wait()) return call(given);
  const Entry entry;
  if (!entry) return call(given);
  const auto waits = [&](MPI_Status *statuses) {
    if (!must_poll()) return call(statuses);
    return poll_until_done([&](int *done) { return next.Testall(count, handles, done, statuses); });
  };
  std::optional<Batch> batch;
  {
    const Lock lock;
    batch.emplace(handles, count, true);
  }
  if (!*batch) return waits(given);
  {
    Waiting waiting;
    for (;;) {
      {
        const Lock lock;
        if (batch->may_complete()) {
          batch->leave();
          break;
        }
      }
      waiting();
    }
  }
  MPI_Status *statuses = statuses_for(count, given);
  const int result = waits(statuses);
  return batch->complete_all(statuses, result);
}

template <class Call>
int test_all(int count, MPI_Request *handles, int *flag, MPI_Status *given, Call &&call) {
  if (!has_requests()) return call(given);
  const Entry entry;
  if (!entry) return call(given);
  std::optional<Batch> batch;
  {
    const Lock lock;
    batch.emplace(handles, count, true);
    if (*batch && !batch->may_complete()) {
      *flag = 0;
      batch->put_back();
      progress();
      if (!batch->has_asked()) nudge();
      return MPI_SUCCESS;
    }
    if (*batch) batch->leave();
  }
  if (!*batch) return call(given);
  MPI_Status *statuses = statuses_for(count, given);
  const int result = call(statuses);
  if (result == MPI_SUCCESS && *flag == 0) {
    const Lock lock;
    batch->put_back();
    progress();
    return result;
  }
  return batch->complete_all(statuses, result);
}

} // namespace haloscope::shm
