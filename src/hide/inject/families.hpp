// The families of functions for the generated wrappers; meanings.py names them.
#pragma once

#include "hide/inject/held.hpp"
#include "hide/inject/injection.hpp"
#include "hide/inject/wait_and_test.hpp"
#include "hide/inject/windows.hpp"

namespace haloscope::inject {

using interpose::Status;

inline void stamp_alone(MPI_Comm comm, int dest, int tag) {
  const Lock lock;
  stamp(comm, dest, tag);
}
inline void spare_alone(MPI_Comm comm, int dest, int tag) {
  const Lock lock;
  spare_stamp(comm, dest, tag);
}

template <class Call> int send(int dest, int tag, MPI_Comm comm, Call &&call) {
  const Entry entry; // for the call, too: some Fortran functions call C's
  if (!entry) return call();
  stamp_alone(comm, dest, tag);
  const int result = call();
  if (!has_message(result)) spare_alone(comm, dest, tag);
  return result;
}

// The lock is held over both, so that stamps of several threads come in the order of their messages.
template <class Call> int post_send(int dest, int tag, MPI_Comm comm, Call &&call) {
  const Entry entry;
  if (!entry) return call();
  const Lock lock;
  stamp(comm, dest, tag);
  const int result = call();
  if (!has_message(result)) spare_stamp(comm, dest, tag);
  return result;
}

// Calls `then` after a call that succeeds.
template <class Call, class Then> int follow(Call &&call, const Then &then) {
  const Entry entry;
  const int result = call();
  if (entry && result == MPI_SUCCESS) then();
  return result;
}

// Does `action` unless it is called from inside the library. MPI's calls in it are not the program's.
template <class Action> void do_inside(const Action &action) {
  const Outermost here;
  if (here) action();
}

template <class Call> int init_send(int dest, int tag, MPI_Comm comm, MPI_Request *request, Call &&call) {
  return follow(call, [&] {
    Communicator *communicator = dest >= 0 ? communicator_of(comm) : nullptr;
    if (communicator != nullptr)
      remember(*request, {.kind = Request::Kind::send,
                          .persistent = true,
                          .active = false,
                          .communicator = communicator->shared_from_this(),
                          .partner = dest,
                          .tag = tag});
  });
}

template <class Call> int receive(MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  Status status{given};
  const int result = call(status());
  wait_for_message(result, comm, *status());
  return result;
}

// The lock is held over both, so that receives are known in the order in which MPI got them.
template <class Call>
int remember_receive(int source, int tag, MPI_Comm comm, const MPI_Request *request, const Request &known,
                     Call &&call) {
  Communicator *communicator = source == MPI_PROC_NULL ? nullptr : communicator_of(comm);
  const Lock lock;
  const int result = call();
  if (result != MPI_SUCCESS) return result;
  if (communicator == nullptr) {
    state.requests.erase(interpose::value_of(*request));
    return result;
  }
  Request receive = known;
  receive.communicator = communicator->shared_from_this();
  receive.partner = source;
  receive.tag = tag;
  keep(*request, receive);
  return result;
}

template <class Call>
int post_receive(int source, int tag, MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  return entry ? remember_receive(source, tag, comm, request, {}, call) : call();
}

template <class Call>
int init_receive(int source, int tag, MPI_Comm comm, MPI_Request *request, Call &&call) {
  const Entry entry;
  return entry ? remember_receive(source, tag, comm, request, {.persistent = true, .active = false}, call)
               : call();
}

template <class Call> int exchange(int dest, int tag, MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  stamp_alone(comm, dest, tag);
  Status status{given};
  const int result = call(status());
  if (!has_message(result)) spare_alone(comm, dest, tag);
  wait_for_message(result, comm, *status());
  return result;
}

template <class Call>
int post_exchange(int dest, int tag, int source, int source_tag, MPI_Comm comm, MPI_Request *request,
                  Call &&call) {
  const Entry entry;
  if (!entry) return call();
  stamp_alone(comm, dest, tag);
  const int result = remember_receive(source, source_tag, comm, request, {.exchange = true}, call);
  if (!has_message(result)) spare_alone(comm, dest, tag);
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

// MPI_Iprobe, and MPI_Improbe with a message. The call gets the source and tag of the message that was found,
// because a different one may have arrived meanwhile.
template <class Call>
int poll(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *given, MPI_Message *message,
         Call &&call) {
  const Entry entry;
  Communicator *communicator = entry ? communicator_of(comm) : nullptr;
  if (communicator == nullptr || source == MPI_PROC_NULL) return call(source, tag, given);
  MPI_Status found{};
  int there = 0;
  const int result = real.Iprobe(source, tag, comm, &there, &found);
  if (result != MPI_SUCCESS) return call(source, tag, given);
  const auto due = there != 0 ? foreseen(communicator, found, false) : std::nullopt;
  if (!due || *due > now()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int polled = call(found.MPI_SOURCE, found.MPI_TAG, given);
  if (polled == MPI_SUCCESS && *flag != 0 && message != nullptr) arrival(communicator, found, true);
  return polled;
}

template <class Call> int start(int count, const MPI_Request *requests, Call &&call) {
  const Entry entry;
  if (entry)
    for (int i = 0; i < count; i++) begin(requests[i]);
  return call();
}

template <class Call> int cancel(const MPI_Request *request, Call &&call) {
  const Entry entry;
  if (entry) remember_cancelled(*request);
  return call();
}

template <class Call>
int init_partitioned(bool sends, int count, int partner, int tag, MPI_Comm comm, const MPI_Request *request,
                     Call &&call) {
  const Entry entry;
  const int result = call();
  Communicator *communicator = entry && result == MPI_SUCCESS ? communicator_of(comm) : nullptr;
  if (communicator == nullptr) return result;
  remember(*request, {.kind = Request::Kind::partitioned,
                      .persistent = true,
                      .active = false,
                      .partitions = std::make_shared<Partitions>(
                          Partitions{communicator->shared_from_this(), sends, count, partner, tag, {}})});
  return result;
}

template <class Call> int ready(int first, int last, MPI_Request request, Call &&call) {
  const Entry entry;
  if (const Kept found = entry ? known(request) : nullptr; found && found->partitions)
    send_stamps(*found->partitions, first, last);
  return call();
}

template <class Call> int ready(const int *partitions, int count, MPI_Request request, Call &&call) {
  const Entry entry;
  if (const Kept found = entry ? known(request) : nullptr; found && found->partitions)
    for (int i = 0; i < count; i++) send_stamps(*found->partitions, partitions[i], partitions[i]);
  return call();
}

template <class Call> int arrived(MPI_Request request, int partition, int *flag, Call &&call) {
  const Entry entry;
  const int result = call();
  const Kept found = entry && result == MPI_SUCCESS && *flag != 0 ? known(request) : nullptr;
  if (!found || !found->partitions || !found->active) return result;
  const auto due = one_arrived(*found->partitions, partition);
  *flag = due && *due <= now() ? 1 : 0;
  return result;
}

template <class Call> int free_request(MPI_Request *request, Call &&call) {
  const Entry entry;
  if (!entry || !keep_freed(*request)) return call();
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

template <class Call> int collective(Gets gets, int root, MPI_Comm comm, Call &&call) {
  return follow(call,
                [&] { wait_until(collective_due(link_of(gets, root, comm, communicator_of(comm)), now())); });
}

template <class Call>
int post_collective(Gets gets, int root, MPI_Comm comm, MPI_Request *request, Call &&call) {
  return follow(call, [&] {
    if (const auto link = link_of(gets, root, comm, communicator_of(comm)))
      remember(*request, {.kind = Request::Kind::timed, .due = collective_due(link, now())});
    else
      forget(*request);
  });
}

template <class Call>
int init_collective(Gets gets, int root, MPI_Comm comm, MPI_Request *request, Call &&call) {
  return follow(call, [&] {
    remember(*request, {.kind = Request::Kind::timed,
                        .persistent = true,
                        .active = false,
                        .link = link_of(gets, root, comm, communicator_of(comm))});
  });
}

template <class Call> int make_communicator(MPI_Comm *made, Call &&call) {
  return follow(call, [&] {
    if (*made != MPI_COMM_NULL) attach(*made);
  });
}

template <class Call> int make_from_group(MPI_Comm *made, Call &&call) {
  return follow(call, [&] {
    if (*made != MPI_COMM_NULL) attach_group(*made);
  });
}

template <class Call>
int duplicate_later(MPI_Comm comm, const MPI_Comm *made, const MPI_Request *request, Call &&call) {
  return follow(call, [&] {
    if (Communicator *original = communicator_of(comm))
      remember(*request, {.kind = Request::Kind::duplicate, .duplicate = attach_later(*made, *original)});
  });
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
  if (result == MPI_SUCCESS && interpose::library_fits()) do_inside(initialise);
  return result;
}

template <class Call> int finalize(Call &&call) {
  finalise();
  return call();
}

template <class Call> int abort_all(Call &&call) {
  write_all();
  return call();
}

template <class Call> int begin_session(Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS && interpose::library_fits()) do_inside(start_session);
  return result;
}

template <class Call> int end_session(Call &&call) {
  do_inside(finish_session);
  return call();
}

} // namespace haloscope::inject
