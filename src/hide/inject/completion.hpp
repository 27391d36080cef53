// Requests that complete later than the library says.
#pragma once

#include "injection.hpp"

#include <span>

namespace haloscope::inject {

// Handles that are known to the injector; sends are not, as nothing holds them back.
std::optional<Request> known(MPI_Request handle);
void remember(MPI_Request handle, const Request &request);
void remember_due(MPI_Request handle, Moment due);
// After completion: a persistent one stays, without what was known of its last message.
void complete(MPI_Request handle);
void forget(MPI_Request handle);

// Of a request that the library has completed with this status: until when it is held back.
Moment due_of(const Request &request, const MPI_Status &status);

// Whether a request may complete now. If not, and it is known when it may, `due` becomes that if it is
// earlier.
bool may_complete(MPI_Request handle, Moment &due);

// The requests with those that must not complete yet left out.
class Masked {
public:
  Masked(MPI_Request *requests, int count);

  [[nodiscard]] bool is_all_ready() const noexcept { return held_ == 0; }
  // When to look again: at once, unless all that the library has to do is done.
  [[nodiscard]] Moment due() const noexcept;
  MPI_Request *data() noexcept { return ready_.data(); }
  // After the library completed or left the request at this place.
  void update(int index);

private:
  std::span<MPI_Request> given_;
  std::vector<MPI_Request> ready_, before_;
  int held_ = 0;
  bool others_ = false; // on which the library is still at work
  Moment due_ = INT64_MAX;
};

} // namespace haloscope::inject
