// Behind the wrappers of functions that receive, and probe.
#pragma once

#include "calls.hpp"
#include "lanes.hpp"

namespace haloscope::stencil::layer {

// A receive whose buffer the program left to us gets one; `buffer` is changed.
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
  if (request->large && request->active) count_receiving(1);
  insert(request);
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
  if (lent || persistent || bytes >= layer.options.threshold || may_free)
    return remember_receive(target, lent, source, persistent, *handle, bounce);
  note_small(*handle, target);
  return result;
}

template <class Count, class Call>
int receive(void *&buffer, Count &count, MPI_Datatype &type, int source, int tag, MPI_Comm comm,
            MPI_Status *given, Call &&call) {
  const bool brings = is_running() && may_bring_token({buffer, count, type, comm});
  if (!brings && buffer != nullptr) return call(given);
  const Entry entry;
  if (!entry || source == MPI_PROC_NULL) return call(given);
  Status status{given};
  bool lent = false;
  if (buffer == nullptr) {
    const Lock lock;
    lent = provide(buffer, count, type);
    if (!brings && !lent) return call(given);
  }
  const Target target{buffer, count, type, comm};
  Request *request = nullptr;
  {
    const Lock lock;
    request = make_request(target);
    request->lent = lent;
    request->source = lent ? elsewhere(comm, source) : -1;
    request->bounce = redirect(buffer, count, type, request->capacity);
  }
  int result = MPI_SUCCESS;
  bool posted = false;
  if (request->large && count <= INT32_MAX) {
    // Others go on while we wait.
    result = next.Irecv(buffer, static_cast<int>(count), type, source, tag, comm, &request->handle);
    posted = result == MPI_SUCCESS;
    if (posted) {
      {
        const Lock lock;
        count_receiving(1);
      }
      wait_until_ready(*request);
      result = next.Wait(&request->handle, status());
    }
  } else {
    result = call(status());
  }
  const Lock lock;
  if (posted) count_receiving(-1);
  if (result == MPI_SUCCESS) result = raise(comm, end_receive(*request, *status()));
  drop(request);
  return result;
}

// MPI_Mrecv: whose communicator's errors it has, its message does not say.
template <class Count, class Call>
int receive_matched(void *&buffer, Count &count, MPI_Datatype &type, MPI_Status *given, Call &&call) {
  const Entry entry;
  const Target target{buffer, count, type, MPI_COMM_WORLD};
  if (!entry || !may_bring_token(target)) return call(given);
  Status status{given};
  std::byte *bounce = redirect(buffer, count, type, bytes_of(count, type));
  const int result = call(status());
  const Lock lock;
  if (result == MPI_SUCCESS) return raise(MPI_COMM_WORLD, receive_now(target, *status(), bounce));
  std::free(bounce);
  return result;
}

template <class Count, class Call>
int exchange(const void *sent, MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag,
             void *&buffer, Count &count, MPI_Datatype &type, int source, int tag, MPI_Comm comm,
             MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  const Target target{buffer, count, type, comm};
  const bool brings = source != MPI_PROC_NULL && may_bring_token(target);
  const bool ours = sent != nullptr && may_be_ours(send_count, send_type);
  if (!brings && !ours) return call(given);
  Status status{given};
  Request *request = nullptr;
  int result = MPI_SUCCESS;
  std::byte *bounce = nullptr;
  if (brings) bounce = redirect(buffer, count, type, bytes_of(count, type));
  if (ours && count <= INT32_MAX) {
    // First the receive, as nothing may fail once the message is sent.
    MPI_Request handle;
    result = next.Irecv(buffer, static_cast<int>(count), type, source, tag, comm, &handle);
    if (result != MPI_SUCCESS) {
      std::free(bounce);
      return result;
    }
    Request *receives = nullptr;
    {
      const Lock lock;
      request = begin_send(Mode::standard, sent, send_count, send_type, {dest, send_tag, comm});
      if (request != nullptr) request->persistent = true;
      receives = make_request(target);
      receives->handle = handle;
      receives->bounce = bounce;
      receives->large = true;
    }
    MPI_Request rest = MPI_REQUEST_NULL;
    if (request == nullptr)
      result = send_count <= INT32_MAX
                   ? next.Isend(sent, static_cast<int>(send_count), send_type, dest, send_tag, comm, &rest)
                   : next.Send(sent, static_cast<int>(send_count), send_type, dest, send_tag, comm);
    if (brings) wait_until_ready(*receives);
    if (request != nullptr) wait_until_ready(*request);
    if (result == MPI_SUCCESS) result = next.Wait(&rest, MPI_STATUS_IGNORE);
    const int received = next.Wait(&handle, status());
    const Lock lock;
    if (received == MPI_SUCCESS && brings) result = raise(comm, end_receive(*receives, *status()));
    drop(receives);
    if (request != nullptr) drop(request);
    return received == MPI_SUCCESS ? result : received;
  }
  result = call(status());
  const Lock lock;
  if (result == MPI_SUCCESS && brings) return raise(comm, receive_now(target, *status(), bounce));
  std::free(bounce);
  return result;
}

// What the program sends from the buffer that it receives into is MPI's.
template <class Call>
int exchange_in_place(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int send_tag, int source,
                      MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  {
    const Lock lock;
    pass_token_length(count, type, {dest, send_tag, comm});
  }
  const Target target{buffer, count, type, comm};
  if (source == MPI_PROC_NULL || !may_bring_token(target)) return call(given);
  Status status{given};
  const int result = call(status());
  const Lock lock;
  return result == MPI_SUCCESS ? raise(comm, receive_now(target, *status())) : result;
}

template <class Count, class Call>
int post_exchange(MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag, void *&buffer,
                  Count &count, MPI_Datatype &type, int source, MPI_Comm comm, MPI_Request *handle,
                  Call &&call) {
  const Entry entry;
  if (!entry) return call();
  const Lock lock;
  pass_token_length(send_count, send_type, {dest, send_tag, comm});
  const Target target{buffer, count, type, comm};
  const bool brings = source != MPI_PROC_NULL && may_bring_token(target);
  std::byte *bounce = nullptr;
  if (brings) bounce = redirect(buffer, count, type, bytes_of(count, type));
  const int result = call();
  if (result == MPI_SUCCESS && brings) return remember_receive(target, false, -1, false, *handle, bounce);
  std::free(bounce);
  return result;
}

template <class Call>
int post_exchange_in_place(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int send_tag,
                           int source, MPI_Comm comm, MPI_Request *handle, Call &&call) {
  const Entry entry;
  if (!entry) return call();
  const Lock lock;
  pass_token_length(count, type, {dest, send_tag, comm});
  const Target target{buffer, count, type, comm};
  const int result = call();
  if (result != MPI_SUCCESS || source == MPI_PROC_NULL || !may_bring_token(target)) return result;
  return remember_receive(target, false, -1, false, *handle, nullptr);
}

template <class Call> int probe(MPI_Comm comm, MPI_Status *status, int *flag, Call &&call) {
  const Entry entry;
  const int result = call();
  if (!entry || result != MPI_SUCCESS || status == MPI_STATUS_IGNORE || (flag != nullptr && *flag == 0))
    return result;
  const Lock lock;
  correct_probe(comm, status);
  return result;
}

} // namespace haloscope::stencil::layer
