// Behind the wrappers of functions that send.
#pragma once

#include "hide/layer/calls.hpp"

namespace haloscope::stencil::layer {

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
    if (!must_poll() || mode == Mode::buffered || count > INT32_MAX) return call();
    MPI_Request handle;
    const int result = post_to_mpi(mode, buffer, count, type, {dest, tag, comm}, &handle);
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
  return call();
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
  // A handle that does nothing by itself: each message goes the way that is open when it starts.
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

} // namespace haloscope::stencil::layer
