// Requests that complete when the layer says so.
#pragma once

#include "hide/layer/receiving.hpp"
#include "hide/layer/sending.hpp"

#include <span>
#include <utility>
#include <vector>

namespace haloscope::stencil::layer {

// Whether the library may complete it now; lets it make progress. A send of ours is over then.
bool may_complete(Request &request);
// MPI_Request_get_status has found it complete, which it stays.
void peeked(Request &request, MPI_Status &status);
// After the library has completed it: the true status, or an error. It is no longer ours, unless persistent.
int completed(Request *request, MPI_Status &status);
// Raises an error as the request's communicator has it.
int raise(MPI_Comm comm, int error);

// Statuses of several requests, in a place of ours where the program wants none.
MPI_Status *statuses_for(int count, MPI_Status *given);

// What a thread's batches are made of: one at a time, whose memory the next one uses again.
struct Scratch {
  std::vector<Request *> known;
  std::vector<std::pair<std::size_t, SmallReceive>> small; // by their places
  std::vector<MPI_Request> ready;
};
inline thread_local Scratch scratch;

// The layer's requests among the program's.
class Batch {
public:
  // `takes_small`: receives below the threshold are taken out, and put back by put_back.
  Batch(MPI_Request *requests, int count, bool takes_small);
  explicit operator bool() const noexcept { return any_; } // there is one
  void leave() noexcept;                                   // MPI may complete them now
  void put_back();                                         // it did not
  bool may_complete();                                     // all of them
  // That has asked MPI, which went on with whatever else there is.
  [[nodiscard]] bool has_asked() const noexcept { return has_asked_; }
  // The communicator of one of them.
  [[nodiscard]] MPI_Comm comm(int index) const noexcept {
    const Request *request = known_.empty() ? nullptr : known_[static_cast<std::size_t>(index)];
    return request == nullptr ? MPI_COMM_WORLD : request->comm;
  }
  // After the library has completed all.
  int completed(MPI_Status *statuses, int result);

protected:
  bool end_all(MPI_Status *statuses, bool in_status, MPI_Comm &comm);

  std::span<MPI_Request> given_;
  std::vector<Request *> &known_ = scratch.known;
  std::vector<std::pair<std::size_t, SmallReceive>> &small_ = scratch.small;
  bool any_ = false, has_asked_ = false, left_ = false;
};

// … with those that must not complete yet left out.
class Masked : public Batch {
public:
  Masked(MPI_Request *requests, int count) : Batch(requests, count, false) {}
  MPI_Request *refresh();
  [[nodiscard]] bool is_held() const noexcept { return held_; } // one at least
  // The library has completed, or left, the request at this place.
  int update(int index, MPI_Status &status);
  // The same where the library says that this one failed.
  void fail(int index);

private:
  std::vector<MPI_Request> &ready_ = scratch.ready;
  bool held_ = false;
};

void start_request(MPI_Request *handle);
void forget_communicator(MPI_Comm comm);
// Requests that the program has freed while they were active: they go on without it.
void abandon(Request *request);
void finish_abandoned();

} // namespace haloscope::stencil::layer
