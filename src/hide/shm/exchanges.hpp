// Behind the wrappers of functions that send and receive in one call.
#pragma once

#include "hide/shm/sends_and_receives.hpp"

#include <memory>

namespace haloscope::shm {

// Waits until both are over. Either may be null, if it is none of ours.
inline void wait_until_ready(Request *receives, Request *sends) {
  Waiting waiting;
  for (;;) {
    {
      const Lock lock;
      const bool received = receives == nullptr || may_complete(*receives);
      const bool sent = sends == nullptr || may_complete(*sends);
      if (received && sent) return;
    }
    waiting();
  }
}

// Does both by calls that do not block.
template <class Count>
int exchange_by_two(const void *sent, MPI_Count send_count, MPI_Datatype send_type, const Envelope &envelope,
                    void *&buffer, Count &count, MPI_Datatype &type, int source, int tag, bool brings,
                    MPI_Status *status) {
  Request *receives = nullptr, *sends = nullptr;
  {
    const Lock lock;
    receives = make_request({buffer, count, type, envelope.comm});
    if (brings) receives->bounce = redirect(buffer, count, type, receives->capacity);
    receives->large = brings;
  }
  MPI_Request rest = MPI_REQUEST_NULL;
  // First the receive, as nothing may fail once the message is sent.
  int result =
      next.Irecv(buffer, static_cast<int>(count), type, source, tag, envelope.comm, &receives->handle);
  const bool posted = result == MPI_SUCCESS;
  if (posted) {
    {
      const Lock lock;
      add_pending(*receives);
      sends = begin_send(Mode::standard, sent, send_count, send_type, envelope);
      if (sends != nullptr) sends->persistent = true; // it has no handle to be completed
    }
    if (sends == nullptr) {
      result = post_to_mpi(Mode::standard, sent, send_count, send_type, envelope, &rest);
      announced_is_posted();
    }
    if (result == MPI_SUCCESS)
      wait_until_ready(brings ? receives : nullptr, sends);
    else
      next.Cancel(&receives->handle);
    if (result == MPI_SUCCESS) result = finish(&rest, MPI_STATUS_IGNORE);
    const int received = finish(&receives->handle, status);
    if (received != MPI_SUCCESS) result = received;
  }
  if (sends != nullptr) {
    const Lock lock;
    drop(sends);
  }
  if (brings) return conclude(receives, *status, result);
  const Lock lock;
  drop(receives);
  return result;
}

template <class Count, class Call>
int exchange(const void *sent, MPI_Count send_count, MPI_Datatype send_type, int dest, int send_tag,
             void *&buffer, Count &count, MPI_Datatype &type, int source, int tag, MPI_Comm comm,
             MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry || count < 0 || send_count < 0) return call(given);
  const Target target{buffer, count, type, comm};
  const bool brings = source != MPI_PROC_NULL && may_bring_token(target);
  const bool waits = may_be_ours(send_count, send_type) || is_large(count, type) || must_poll();
  if (!brings && !waits) return call(given);
  Status status{given};
  if (waits && count <= INT32_MAX && send_count <= INT32_MAX)
    return exchange_by_two(sent, send_count, send_type, {dest, send_tag, comm}, buffer, count, type, source,
                           tag, brings, status());
  if (!brings) return call(given);
  Request *request = nullptr;
  {
    const Lock lock;
    request = make_request(target);
    request->bounce = redirect(buffer, count, type, request->capacity);
  }
  return conclude(request, *status(), call(status()));
}

// Sends a copy, so that other messages can go on meanwhile.
template <class Count, class Call>
int exchange_copy(void *&buffer, Count &count, MPI_Datatype &type, int dest, int send_tag, int source,
                  int tag, MPI_Comm comm, MPI_Status *given, Call &&call) {
  const Entry entry;
  if (!entry) return call(given);
  const bool brings = source != MPI_PROC_NULL && may_bring_token({buffer, count, type, comm});
  Status status{given};
  if (dest == MPI_PROC_NULL) // then the program need not have all of the buffer's memory
    return exchange_by_two(nullptr, 0, MPI_BYTE, {dest, send_tag, comm}, buffer, count, type, source, tag,
                           brings, status());
  const std::uint64_t bytes = bytes_of(count, type);
  const std::unique_ptr<void, decltype(&std::free)> copy{bytes > INT32_MAX ? nullptr : std::malloc(bytes + 1),
                                                         &std::free};
  if (copy == nullptr) return call(given);
  void *from = buffer;
  MPI_Datatype moved = from == nullptr ? leave_bottom(type, from) : MPI_DATATYPE_NULL;
  int position = 0;
  const int result = real.Pack(from, static_cast<int>(count), moved == MPI_DATATYPE_NULL ? type : moved,
                               copy.get(), static_cast<int>(bytes), &position, comm);
  if (moved != MPI_DATATYPE_NULL) real.Type_free(&moved);
  if (result != MPI_SUCCESS) return result;
  return exchange_by_two(copy.get(), position, MPI_BYTE, {dest, send_tag, comm}, buffer, count, type, source,
                         tag, brings, status());
}

// MPI carries what the program sends from the buffer that it receives into, unless a token may come that has
// to be redirected.
template <class Count, class Call>
int exchange_in_place(void *&buffer, Count &count, MPI_Datatype &type, int dest, int send_tag, int source,
                      int tag, MPI_Comm comm, MPI_Status *given, Call &&call) {
  if (is_running() && !is_inside() && count > 0 && count <= INT32_MAX &&
      (must_poll() || is_redirected(count, type)))
    return exchange_copy(buffer, count, type, dest, send_tag, source, tag, comm, given, call);
  const Entry entry;
  if (!entry) return call(given);
  {
    const Lock lock;
    pass_token_length(count, type, {dest, send_tag, comm});
  }
  const Target target{buffer, count, type, comm};
  if (source == MPI_PROC_NULL || !may_bring_token(target)) return call(given);
  Request *request = nullptr;
  {
    const Lock lock;
    request = make_request(target);
  }
  Status status{given};
  return conclude(request, *status(), call(status()));
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

} // namespace haloscope::shm
