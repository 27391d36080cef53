// While a rank waits for anything, its own receives, the MPI library and copies of other ranks go on.
#pragma once

#include "hide/shm/copying.hpp"

namespace haloscope::shm {

void nudge(); // the library, to go on with what it has
// Looks at a pending receive of this rank, and at what others ask for. Returns true if something was done.
bool progress();
// Looks at all pending receives once.
void progress_receives();

// One turn of a wait: not under the lock.
class Waiting {
public:
  ~Waiting();
  Waiting() = default;
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;
  void operator()();

private:
  unsigned rounds_ = 0;
  bool free_ = false; // we said that we may help
};

// Used in place of a call that would block. `ask(&done)` is the call that does not block; it returns MPI's
// error.
template <class Ask> int poll_until_done(Ask &&ask) {
  Waiting waiting;
  for (;;) {
    int done = 0;
    const int result = ask(&done);
    if (result != MPI_SUCCESS || done != 0) return result;
    waiting();
  }
}

// MPI_Wait of a request that MPI alone knows, or that may complete.
inline int finish(MPI_Request *handle, MPI_Status *status) {
  return poll_until_done([&](int *done) { return next.Test(handle, done, status); });
}

// For a call that blocks until other ranks come and that has no form to be polled: informs the ranks that
// send to this one.
class Away {
public:
  Away();
  ~Away();
  Away(const Away &) = delete;
  Away &operator=(const Away &) = delete;
};

} // namespace haloscope::shm
