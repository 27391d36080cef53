// Behind the wrappers of functions that send, receive and probe.
#pragma once

#include "hide/shm/ahead.hpp"
#include "hide/shm/holding.hpp"
#include "hide/shm/trials.hpp"

namespace haloscope::shm {

template <class Call>
int send(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
         Call &&call) {
  if (!is_running() || !(may_be_ours(count, type) || must_poll())) return call();
  const Entry entry; // for the call, too: some Fortran functions call C's
  if (!entry) return call();
  Request *request = nullptr;
  {
    const Lock lock;
    request = begin_send(mode, buffer, count, type, {dest, tag, comm});
    if (request != nullptr) request->persistent = true; // it has no handle to be completed
  }
  if (request == nullptr) {
    if ((!must_poll() && !is_announced()) || mode == Mode::buffered || count > INT32_MAX) return call();
    MPI_Request handle;
    const int result = post_to_mpi(mode, buffer, count, type, {dest, tag, comm}, &handle);
    announced_is_posted();
    return result == MPI_SUCCESS ? finish(&handle, MPI_STATUS_IGNORE) : result;
  }
  wait_until_ready(*request);
  const Lock lock;
  drop(request);
  return MPI_SUCCESS;
}

template <class Call>
int post_send(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
              MPI_Comm comm, MPI_Request *handle, Call &&call) {
  if (!is_running() || !may_be_ours(count, type)) return call();
  const Entry entry;
  if (!entry) return call();
  {
    const Lock lock;
    if (Request *request = begin_send(mode, buffer, count, type, {dest, tag, comm})) {
      const int result = make_handle(request, handle);
      insert(request);
      return result;
    }
  }
  const int result = call();
  announced_is_posted();
  return result;
}

template <class Call>
int init_send(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
              MPI_Comm comm, MPI_Request *handle, Call &&call) {
  if (!is_running() || !may_be_ours(count, type)) return call();
  const Entry entry;
  if (!entry) return call();
  {
    const Lock lock;
    const Envelope envelope{dest, tag, comm};
    if (!would_carry(mode, buffer, count, type, envelope)) {
      pass_token_length(count, type, envelope);
      return call();
    }
  }
  // The handle does nothing by itself: whether MPI or the shm library carries a message is decided when it
  // starts.
  const int result = next.Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, handle);
  if (result != MPI_SUCCESS) return result;
  const Lock lock;
  Request *request = make_request();
  request->kind = Request::Kind::send;
  request->persistent = true;
  request->active = false;
  request->handle = *handle;
  request->mode = mode;
  request->buffer = const_cast<void *>(buffer);
  request->count = count;
  keep_type(*request, type);
  request->dest = dest;
  request->tag = tag;
  request->comm = comm;
  insert(request);
  return result;
}

// Gives a buffer to a receive whose buffer the program left to us; `buffer` is changed.
inline bool provide(void *&buffer, MPI_Count count, MPI_Datatype type) {
  if (buffer != nullptr || !wants_buffer(buffer, count, type)) return false;
  buffer = take_buffer(bytes_of(count, type));
  return buffer != nullptr;
}

inline int remember_receive(const Target &target, bool lent, int source, bool persistent, MPI_Request handle,
                            std::byte *bounce) {
  Request *request = make_request(target);
  request->source = lent ? elsewhere(target.comm, source) : -1;
  request->bounce = bounce;
  request->handle = handle;
  request->lent = lent;
  request->persistent = persistent;
  request->active = !persistent;
  insert(request);
  add_pending(*request);
  return MPI_SUCCESS;
}

template <class Count, class Call>
int post_receive(void *&buffer, Count &count, MPI_Datatype &type, int source, MPI_Comm comm, bool persistent,
                 MPI_Request *handle, Call &&call) {
  const auto bytes = bytes_of(count, type);
  const bool brings = bytes >= shortest_token;
  if ((!brings && buffer != nullptr) || source == MPI_PROC_NULL || !is_running()) return call();
  const Entry entry;
  if (!entry) return call();
  const Lock lock;
  const bool lent = !persistent && provide(buffer, count, type);
  const Target target{buffer, count, type, comm};
  const bool may_free = !shape_of(type).named;
  std::byte *bounce = brings ? redirect(buffer, count, type, bytes) : nullptr;
  const int result = call();
  if (result != MPI_SUCCESS) {
    std::free(bounce);
    if (lent) give_back(buffer);
    return result;
  }
  if (!brings && !lent) return result;
  if (lent || persistent || is_large(count, type) || may_free)
    return remember_receive(target, lent, source, persistent, *handle, bounce);
  note_small(*handle, target);
  return result;
}

// MPI_Recv; other requests, if there are any, go on while it waits.
template <class Count, class Call>
int receive_by_mpi(void *buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Status *status, Call &&call) {
  if (!must_poll() || count > INT32_MAX) return call(status);
  MPI_Request handle;
  const int result = next.Irecv(buffer, static_cast<int>(count), type, source, tag, comm, &handle);
  return result == MPI_SUCCESS ? finish(&handle, status) : result;
}

// Puts right what MPI has received, and drops our request.
inline int conclude(Request *request, MPI_Status &status, int result) {
  int error = MPI_SUCCESS;
  const MPI_Comm comm = request->comm;
  {
    const Lock lock;
    if (result == MPI_SUCCESS) error = end_receive(*request, status);
    drop(request);
  }
  return result == MPI_SUCCESS ? raise(comm, error) : result;
}

template <class Count, class Call>
int receive(void *&buffer, Count &count, MPI_Datatype &type, int source, int tag, MPI_Comm comm,
            MPI_Status *given, Call &&call) {
  if (!is_running()) return call(given);
  const bool brings = may_bring_token({buffer, count, type, comm});
  if (!brings && buffer != nullptr && !must_poll()) return call(given);
  const Entry entry;
  if (!entry || source == MPI_PROC_NULL) return call(given);
  Status status{given};
  bool lent = false;
  if (buffer == nullptr) {
    const Lock lock;
    lent = provide(buffer, count, type);
  }
  if (!brings && !lent) return receive_by_mpi(buffer, count, type, source, tag, comm, given, call);
  const Target target{buffer, count, type, comm};
  Request *request = nullptr;
  {
    const Lock lock;
    request = make_request(target);
    request->lent = lent;
    request->source = lent ? elsewhere(comm, source) : -1;
    request->bounce = redirect(buffer, count, type, request->capacity);
  }
  if (!request->large || count > INT32_MAX)
    return conclude(request, *status(),
                    receive_by_mpi(buffer, count, type, source, tag, comm, status(), call));
  int result = next.Irecv(buffer, static_cast<int>(count), type, source, tag, comm, &request->handle);
  if (result == MPI_SUCCESS) {
    {
      const Lock lock;
      add_pending(*request);
    }
    wait_until_ready(*request);
    result = finish(&request->handle, status());
  }
  return conclude(request, *status(), result);
}

// MPI_Mrecv. Its message does not contain the communicator, so errors are raised on MPI_COMM_WORLD.
template <class Count, class Call>
int receive_matched(void *&buffer, Count &count, MPI_Datatype &type, MPI_Message *message, MPI_Status *given,
                    Call &&call) {
  const Entry entry;
  const Target target{buffer, count, type, MPI_COMM_WORLD};
  if (!entry) return call(given);
  const auto receives = [&](MPI_Status *status) {
    if (!must_poll() || count > INT32_MAX) return call(status);
    MPI_Request handle;
    const int result = next.Imrecv(buffer, static_cast<int>(count), type, message, &handle);
    return result == MPI_SUCCESS ? finish(&handle, status) : result;
  };
  if (!may_bring_token(target)) return receives(given);
  Status status{given};
  Request *request = nullptr;
  {
    const Lock lock;
    request = make_request(target);
    request->bounce = redirect(buffer, count, type, request->capacity);
  }
  return conclude(request, *status(), receives(status()));
}

// MPI_Iprobe, MPI_Improbe.
template <class Call> int probe(MPI_Comm comm, MPI_Status *status, const int *flag, Call &&call) {
  const Entry entry;
  const int result = call();
  if (!entry || result != MPI_SUCCESS) return result;
  const Lock lock;
  if (*flag == 0)
    progress();
  else if (status != MPI_STATUS_IGNORE)
    correct_probe(comm, status);
  return result;
}

// MPI_Probe, MPI_Mprobe: `ask(&flag)` is the form that does not block.
template <class Ask, class Call> int await_probe(MPI_Comm comm, MPI_Status *status, Ask &&ask, Call &&call) {
  const Entry entry;
  const int result = entry && must_poll() ? poll_until_done(ask) : call();
  if (!entry || result != MPI_SUCCESS || status == MPI_STATUS_IGNORE) return result;
  const Lock lock;
  correct_probe(comm, status);
  return result;
}

} // namespace haloscope::shm
