// Requests that complete when the shm library says so, and what all functions behind the wrappers have in
// common.
#pragma once

#include "hide/shm/receiving.hpp"
#include "hide/shm/sending.hpp"
#include "hide/shm/waiting.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace haloscope::shm {

// Whether the library may complete it now; lets it make progress. A send of ours is over then.
bool may_complete(Request &request);
// MPI_Request_get_status has found it complete; it stays complete.
void peek_request(Request &request, MPI_Status &status);
// After the library has completed it: the true status, or an error. It is no longer ours, unless persistent.
int complete_request(Request *request, MPI_Status &status);
// Raises an error as the request's communicator has it.
int raise(MPI_Comm comm, int error);

// Returns where to put the statuses of several requests: a place of our own if the program wants none.
MPI_Status *statuses_for(int count, MPI_Status *given);

// The memory of a thread's batches. There is one batch at a time, so the next one uses it again.
struct Scratch {
  std::vector<Request *> known;
  std::vector<std::pair<std::size_t, SmallReceive>> small; // by their places
  std::vector<MPI_Request> ready;
};
inline thread_local Scratch scratch;

// The shm library's requests among the program's.
class Batch {
public:
  // `takes_small`: receives below the threshold are taken out, and put back by put_back.
  Batch(MPI_Request *requests, int count, bool takes_small);
  explicit operator bool() const noexcept { return any_; } // there is one
  void leave() noexcept;                                   // MPI may complete them now
  void put_back();                                         // it did not
  bool may_complete();                                     // all of them
  // may_complete() has asked MPI about one, which made it go on with everything else.
  [[nodiscard]] bool has_asked() const noexcept { return has_asked_; }
  // The communicator of one of them.
  [[nodiscard]] MPI_Comm comm(int index) const noexcept {
    const Request *request = known_.empty() ? nullptr : known_[static_cast<std::size_t>(index)];
    return request == nullptr ? MPI_COMM_WORLD : request->comm;
  }
  // After the library has completed all.
  int complete_all(MPI_Status *statuses, int result);

protected:
  bool end_all(MPI_Status *statuses, bool in_status, MPI_Comm &comm);

  std::span<MPI_Request> given_;
  std::vector<Request *> &known_ = scratch.known;
  std::vector<std::pair<std::size_t, SmallReceive>> &small_ = scratch.small;
  bool any_ = false, has_asked_ = false, left_ = false;
};

// A batch in which those that must not complete yet are left out.
class Masked : public Batch {
public:
  Masked(MPI_Request *requests, int count) : Batch(requests, count, false) {}
  MPI_Request *refresh();
  [[nodiscard]] bool is_held() const noexcept { return held_; } // one at least
  // The library has completed, or left, the request at this place.
  int update(int index, MPI_Status &status);
  // The same where the library says that this one failed.
  void fail(int index);
  // A persistent request from this place on that is over, and that MPI may take for inactive: a send of ours,
  // which MPI has not started, or a receive that was looked at.
  [[nodiscard]] std::optional<int> own(int from) const noexcept;
  // Returns MPI's result; `error` is ours.
  int update_own(int index, MPI_Status &status, int &error);

private:
  std::vector<MPI_Request> &ready_ = scratch.ready;
  bool held_ = false;
};

// Returns the result for a send of ours, whose handle MPI does not start.
std::optional<int> start_request(MPI_Request handle);
void forget_communicator(MPI_Comm comm);
// Requests that the program has freed while they were active: they go on without it.
void abandon(Request *request);
void finish_abandoned();

using interpose::Status;

inline bool is_running() noexcept { return shm.running.load(std::memory_order_acquire); }
// The program has requests that are known to us.
inline bool has_requests() noexcept { return is_running() && any_known(); }

// The same, or a call that blocks has to poll its receives.
inline bool may_wait() noexcept { return is_running() && (any_known() || must_poll()); }

// Whether a message is large or has the length of a token. All others need no check.
inline bool may_be_ours(MPI_Count count, MPI_Datatype type) noexcept {
  const Shape shape = shape_of(type);
  return is_large(count, shape) || slot_of(bytes_of(count, shape)) >= 0;
}

[[gnu::noinline, gnu::cold]] inline int end_possible_token(const Target &target, MPI_Status &status) {
  if (interpose::was_cancelled(status)) return MPI_SUCCESS;
  int error = MPI_SUCCESS;
  {
    const Lock lock;
    error = receive_now(target, status);
  }
  return raise(target.comm, error);
}

// After a receive below the threshold: nearly always nothing.
inline int end_small(const Target &target, MPI_Status &status, int result) {
  if (__builtin_expect(result != MPI_SUCCESS || slot_of(interpose::received_bytes(status)) < 0, 1))
    return result;
  return end_possible_token(target, status);
}

// Runs a call that completes a receive below the threshold.
template <class Call> int complete_small(const Target &target, MPI_Status *given, Call &&call) {
  MPI_Status own;
  MPI_Status *status = given == MPI_STATUS_IGNORE ? &own : given;
  const int result = call(status);
  return end_small(target, *status, result);
}

// MPI_Wait, of a request that is not ours or may complete.
template <class Call> int wait_for(MPI_Request *handle, MPI_Status *status, Call &&call) {
  return must_poll() ? finish(handle, status) : call(status);
}

inline void wait_until_ready(Request &request) {
  Waiting waiting;
  for (;;) {
    {
      const Lock lock;
      if (may_complete(request)) return;
    }
    waiting();
  }
}

} // namespace haloscope::shm
