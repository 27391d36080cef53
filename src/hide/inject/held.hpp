// Requests that complete later than the library says.
#pragma once

#include "hide/inject/injection.hpp"

#include <span>

namespace haloscope::inject {

// Whether a message was sent or received: also if there was too little room for it.
inline bool has_message(int result) {
  int kind = result;
  if (result != MPI_SUCCESS) real.Error_class(result, &kind);
  return kind == MPI_SUCCESS || kind == MPI_ERR_TRUNCATE;
}

// Handles that are known to the injector; sends are not, as nothing holds them back.
Kept known(MPI_Request handle);
std::vector<Kept> known(const MPI_Request *handles, int count);
void remember(MPI_Request handle, const Request &request);
void keep(MPI_Request handle, const Request &request); // under the lock
void remember_due(Request &request, Moment due);
// After completion: a persistent request stays, without the state of its last message. Its handle may already
// be that of a request of a different thread.
void complete(const Kept &request, int result);
// The same where nothing is held back any more. A message for which there was too little room has a stamp,
// too.
void complete_at_once(const Kept &request, int result, const MPI_Status &status);
void forget(MPI_Request handle);
// Called for a receive that the program frees while it is active. Returns whether it is kept, so that its
// stamp is taken.
bool keep_freed(MPI_Request handle);
// Frees those that are over by now, or all.
void sweep_freed(bool all = false);
void remember_cancelled(MPI_Request handle);
// A persistent one starts again.
void begin(MPI_Request handle);

// Requests that a call may complete. Meanwhile MPI may give their handles to other threads.
class Completing {
public:
  explicit Completing(std::span<const Kept> requests);
  ~Completing();
  Completing(const Completing &) = delete;
  Completing &operator=(const Completing &) = delete;

private:
  std::span<const Kept> requests_;
};

// Returns until when a request is held back that the library has completed with this status.
Moment due_of(Request &request, const MPI_Status &status);

// Whether a request may complete now. If not, and it is known when it may, `due` becomes that if it is
// earlier.
bool may_complete(const Kept &request, Moment &due);

// The requests with those that must not complete yet left out.
class Masked {
public:
  Masked(MPI_Request *requests, int count);

  [[nodiscard]] bool is_all_ready() const noexcept { return held_ == 0; }
  // When to look again: at once, unless all that the library has to do is done.
  [[nodiscard]] Moment due() const noexcept;
  MPI_Request *data() noexcept { return ready_.data(); }
  // After the library completed or left the request at this place.
  void update(int index, int result, const MPI_Status &status);
  [[nodiscard]] const std::vector<Kept> &requests() const noexcept { return before_; }

private:
  std::span<MPI_Request> given_;
  std::vector<MPI_Request> ready_;
  std::vector<Kept> before_;
  int held_ = 0;
  bool others_ = false; // on which the library is still at work
  Moment due_ = INT64_MAX;
};

// Finds a request that may complete, if there is one. `flag` is also set if none ever will.
int try_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *given, Moment &due);
int try_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *given, Moment &due);

// MPI_Request_get_status_any and _some.
int peeked_any(int count, const MPI_Request *requests, int *index, int *flag, MPI_Status *status);
int peeked_some(int count, const MPI_Request *requests, int *done, int *indices, MPI_Status *statuses);

} // namespace haloscope::inject
