// One-sided communication: an operation takes a latency. A call that completes it at its origin waits until
// then.
//
// The wait comes before the library's own call, so that the target does not see the operation earlier,
// either.
#pragma once

#include "hide/inject/held.hpp"

namespace haloscope::inject {

// The direction of an operation, and the operations that a call completes. Gets bring data to the origin, so
// they are complete there only when they are complete at all.
enum class Access : std::uint8_t { puts, gets };
constexpr int every_target = -1;

void open_window(MPI_Comm comm, MPI_Win win);
void close_window(MPI_Win win);
// Draws a latency, and returns when the operation is over.
Moment accessed(Access access, int target, MPI_Win win);
// Returns when all operations are over that a call completes.
Moment access_due(Access access, int target, MPI_Win win);

template <class Call> int make_window(MPI_Comm comm, const MPI_Win *win, Call &&call) {
  const Entry entry;
  const int result = call();
  if (entry && result == MPI_SUCCESS) open_window(comm, *win);
  return result;
}

template <class Call> int free_window(const MPI_Win *win, Call &&call) {
  const Entry entry;
  if (entry) {
    wait_until(access_due(Access::puts, every_target, *win));
    close_window(*win);
  }
  return call();
}

template <class Call> int one_sided(Access access, int target, MPI_Win win, Call &&call) {
  const Entry entry;
  if (entry) accessed(access, target, win);
  return call();
}

template <class Call> int post_get(int target, MPI_Win win, const MPI_Request *request, Call &&call) {
  const Entry entry;
  const Moment due = entry ? accessed(Access::gets, target, win) : 0;
  const int result = call();
  if (entry && result == MPI_SUCCESS) remember(*request, {.kind = Request::Kind::timed, .due = due});
  return result;
}

template <class Call> int complete_access(Access access, int target, MPI_Win win, Call &&call) {
  const Entry entry;
  if (entry) wait_until(access_due(access, target, win));
  return call();
}

} // namespace haloscope::inject
