// What the generated wrappers of each family of functions do; generate.py names them.
#pragma once

#include "completion.hpp"

namespace haloscope::inject {

enum class Gets : std::uint8_t { all, others, root };

// A place for the status where the program wants none.
class Status {
public:
  explicit Status(MPI_Status *given) noexcept : used_(given == MPI_STATUS_IGNORE ? &own_ : given) {}
  MPI_Status *operator()() noexcept { return used_; }

private:
  MPI_Status own_{};
  MPI_Status *used_;
};

template <class Call> int send(int dest, int tag, MPI_Comm comm, Call &&call) {
  if (const Entry entry; entry) stamp(comm, dest, tag);
  return call();
}

template <class Call> int init_send(int dest, int tag, MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  const int result = call();
  Communicator *communicator = entry && result == MPI_SUCCESS && dest >= 0 ? communicator_of(comm) : nullptr;
  if (communicator != nullptr)
    remember(*request, {Request::Kind::send, true, false, true, communicator, dest, tag, {}});
  return result;
}

template <class Call> int receive(MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  Status status{given};
  const int result = call(status());
  if (result == MPI_SUCCESS) wait_until(*arrival(communicator_of(comm), *status(), true));
  return result;
}

inline void remember_receive(MPI_Comm comm, MPI_Request request, bool persistent) {
  if (Communicator *communicator = communicator_of(comm))
    remember(request, {Request::Kind::receive, persistent, !persistent, true, communicator, 0, 0, {}});
  else
    forget(request);
}

template <class Call> int post_receive(MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  const int result = call();
  if (entry && result == MPI_SUCCESS) remember_receive(comm, *request, false);
  return result;
}

template <class Call> int init_receive(MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  const int result = call();
  if (entry && result == MPI_SUCCESS) remember_receive(comm, *request, true);
  return result;
}

template <class Call> int exchange(int dest, int tag, MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  stamp(comm, dest, tag);
  Status status{given};
  const int result = call(status());
  if (result == MPI_SUCCESS) wait_until(*arrival(communicator_of(comm), *status(), true));
  return result;
}

template <class Call> int post_exchange(int dest, int tag, MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  if (entry) stamp(comm, dest, tag);
  const int result = call();
  if (entry && result == MPI_SUCCESS) remember_receive(comm, *request, false);
  return result;
}

template <class Call> int probe(MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  Status status{given};
  const int result = call(status());
  if (result == MPI_SUCCESS) wait_until(*foreseen(communicator_of(comm), *status(), true));
  return result;
}

template <class Call> int matched_probe(MPI_Comm comm, MPI_Status *given, Call &&call) {
  return receive(comm, given, call); // what receives a matched message has nothing to wait for any more
}

// MPI_Iprobe, and MPI_Improbe with a message.
template <class Call>
int poll(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *given, MPI_Message *message,
         Call &&call) {
  const Entry entry;
  Communicator *communicator = entry ? communicator_of(comm) : nullptr;
  if (communicator == nullptr) return call(given);
  MPI_Status found{};
  int there = 0;
  const int result = real.Iprobe(source, tag, comm, &there, &found);
  if (result != MPI_SUCCESS) return call(given);
  const auto due = there != 0 ? foreseen(communicator, found, false) : std::nullopt;
  if (!due || *due > now()) { // not called: a message may have come by now
    *flag = 0;
    return MPI_SUCCESS;
  }
  Status status{given};
  const int polled = call(status());
  if (polled == MPI_SUCCESS && *flag != 0 && message != nullptr) arrival(communicator, *status(), true);
  return polled;
}

template <class Call> int start(int count, MPI_Request *requests, Call &&call) {
  const Entry entry;
  if (!entry) return call();
  for (int i = 0; i < count; i++) {
    auto request = known(requests[i]);
    if (!request) continue;
    request->active = true;
    request->due.reset();
    if (request->kind == Request::Kind::send)
      stamp(*request->communicator, request->partner, request->tag);
    else if (request->kind == Request::Kind::collective && request->gets)
      request->due = collective_due(request->communicator, now());
    remember(requests[i], *request);
  }
  return call();
}

template <class Call> int free_request(MPI_Request *request, Call &&call) {
  const Entry entry;
  if (entry) forget(*request);
  return call();
}

template <class Call> int wait(MPI_Request *request, MPI_Status *given, Call &&call) {
  const Entry entry;
  const MPI_Request handle = *request;
  const auto waiting = entry ? known(handle) : std::nullopt;
  if (!waiting) return call(given);
  Status status{given};
  const int result = call(status());
  const Moment due = result == MPI_SUCCESS ? due_of(*waiting, *status()) : 0;
  complete(handle);
  wait_until(due);
  return result;
}

template <class Call> int test(MPI_Request *request, int *flag, MPI_Status *status, Call &&call) {
  const Entry entry;
  if (!entry) return call(status);
  const MPI_Request handle = *request;
  Moment due = INT64_MAX;
  if (!may_complete(handle, due)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int result = call(status);
  if (result != MPI_SUCCESS || *flag != 0) complete(handle);
  return result;
}

template <class Call> int peek(MPI_Request request, int *flag, MPI_Status *status, Call &&call) {
  const Entry entry;
  if (!entry) return call(status);
  Moment due = INT64_MAX;
  if (may_complete(request, due)) return call(status);
  *flag = 0;
  return MPI_SUCCESS;
}

template <class Call> int wait_all(int count, MPI_Request *requests, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry || count <= 0) return call(given);
  const std::vector<MPI_Request> handles(requests, requests + count);
  std::vector<std::optional<Request>> waiting(handles.size());
  for (std::size_t i = 0; i < handles.size(); i++) waiting[i] = known(handles[i]);
  std::vector<MPI_Status> own(given == MPI_STATUSES_IGNORE ? handles.size() : 0);
  MPI_Status *statuses = own.empty() ? given : own.data();
  const int result = call(statuses);
  Moment due = 0;
  for (std::size_t i = 0; i < handles.size(); i++) {
    if (!waiting[i]) continue;
    const int error = result == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : result;
    if (error == MPI_ERR_PENDING) continue;
    if (error == MPI_SUCCESS) due = std::max(due, due_of(*waiting[i], statuses[i]));
    complete(handles[i]);
  }
  wait_until(due);
  return result;
}

template <class Call>
int test_all(int count, MPI_Request *requests, int *flag, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry || count <= 0) return call(given);
  const std::vector<MPI_Request> handles(requests, requests + count);
  if (!Masked{requests, count}.is_all_ready()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int result = call(given);
  if (result != MPI_SUCCESS || *flag != 0)
    for (const MPI_Request handle : handles) complete(handle);
  return result;
}

// One that may complete, if there is one; `flag` is also set where there is none that ever will.
int try_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status, Moment &due);
int try_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses, Moment &due);

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

inline bool gets_data(Gets gets, int root, const Communicator *communicator) {
  if (communicator == nullptr || root == MPI_PROC_NULL) return false;
  if (gets == Gets::all) return true;
  const bool is_root = root == MPI_ROOT || root == communicator->rank;
  return is_root == (gets == Gets::root);
}

template <class Call> int collective(Gets gets, int root, MPI_Comm comm, Call &&call) {
  const Entry entry;
  const int result = call();
  if (!entry || result != MPI_SUCCESS) return result;
  const Communicator *communicator = communicator_of(comm);
  if (gets_data(gets, root, communicator)) wait_until(collective_due(communicator, now()));
  return result;
}

template <class Call>
int post_collective(Gets gets, int root, MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  const int result = call();
  if (!entry || result != MPI_SUCCESS) return result;
  Communicator *communicator = communicator_of(comm);
  if (gets_data(gets, root, communicator))
    remember(*request, {Request::Kind::collective, false, true, true, communicator, 0, 0,
                        collective_due(communicator, now())});
  else
    forget(*request);
  return result;
}

template <class Call>
int init_collective(Gets gets, int root, MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  const int result = call();
  if (!entry || result != MPI_SUCCESS) return result;
  if (Communicator *communicator = communicator_of(comm))
    remember(*request, {Request::Kind::collective,
                        true,
                        false,
                        gets_data(gets, root, communicator),
                        communicator,
                        0,
                        0,
                        {}});
  return result;
}

template <class Call> int make_communicator(MPI_Comm *made, Call &&call) {
  const Entry entry;
  const int result = call();
  if (entry && result == MPI_SUCCESS && *made != MPI_COMM_NULL) attach(*made);
  return result;
}

template <class Call> int free_communicator(MPI_Comm *comm, Call &&call) {
  const Entry entry;
  auto stamps = entry ? detached(*comm) : std::nullopt;
  const int result = call();
  if (stamps && result == MPI_SUCCESS) real.Comm_free(&*stamps);
  return result;
}

template <class Call> int initialize(Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS && !inside) {
    inside = true;
    initialise();
    inside = false;
  }
  return result;
}

template <class Call> int finalize(Call &&call) {
  finalise();
  return call();
}

} // namespace haloscope::inject
