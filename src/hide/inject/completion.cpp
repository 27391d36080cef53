#include "completion.hpp"

#include "families.hpp"

#include <algorithm>

namespace haloscope::inject {

using watch::value_of;

std::optional<Request> known(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return std::nullopt;
  const Lock lock;
  const auto found = state.requests.find(value_of(handle));
  return found == state.requests.end() ? std::nullopt : std::optional{found->second};
}

void remember(MPI_Request handle, const Request &request) {
  if (handle == MPI_REQUEST_NULL) return;
  const Lock lock;
  state.requests[value_of(handle)] = request;
}

void remember_due(MPI_Request handle, Moment due) {
  const Lock lock;
  const auto found = state.requests.find(value_of(handle));
  if (found != state.requests.end()) found->second.due = due;
}

void complete(MPI_Request handle) {
  const Lock lock;
  const auto found = state.requests.find(value_of(handle));
  if (found == state.requests.end()) return;
  if (!found->second.persistent) {
    state.requests.erase(found);
    return;
  }
  found->second.active = false;
  found->second.due.reset();
}

void forget(MPI_Request handle) {
  const Lock lock;
  state.requests.erase(value_of(handle));
}

Moment due_of(const Request &request, const MPI_Status &status) {
  if (!request.active || request.kind == Request::Kind::send) return 0;
  if (request.due) return *request.due;
  if (request.kind == Request::Kind::collective || watch::was_cancelled(status)) return 0;
  return arrival(request.communicator, status, true).value_or(0);
}

bool may_complete(MPI_Request handle, Moment &due) {
  const auto request = known(handle);
  if (!request || !request->active || request->kind == Request::Kind::send) return true;
  int done = 0;
  MPI_Status status;
  if (real.Request_get_status(handle, &done, &status) != MPI_SUCCESS) return true; // the program's call fails
  if (done == 0) return false;
  Moment arrives = 0;
  if (request->due) {
    arrives = *request->due;
  } else if (request->kind == Request::Kind::receive && !watch::was_cancelled(status)) {
    const auto stamped = arrival(request->communicator, status, false);
    if (!stamped) return false;
    arrives = *stamped;
    remember_due(handle, arrives);
  }
  if (arrives <= now()) return true;
  due = std::min(due, arrives);
  return false;
}

Masked::Masked(MPI_Request *requests, int count)
    : given_(requests, static_cast<std::size_t>(std::max(count, 0))), ready_(given_.begin(), given_.end()),
      before_(ready_) {
  for (MPI_Request &request : ready_) {
    Moment due = INT64_MAX;
    if (may_complete(request, due)) {
      others_ = others_ || request != MPI_REQUEST_NULL;
    } else {
      others_ = others_ || due == INT64_MAX;
      request = MPI_REQUEST_NULL;
      held_++;
    }
    due_ = std::min(due_, due);
  }
}

Moment Masked::due() const noexcept {
  constexpr Moment pause = 50'000;
  if (due_ == INT64_MAX) return 0;
  return others_ ? std::min(due_, now() + pause) : due_;
}

void Masked::update(int index) {
  const auto i = static_cast<std::size_t>(index);
  given_[i] = ready_[i];
  complete(before_[i]);
}

int try_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status, Moment &due) {
  Masked masked{requests, count};
  const int result = next.Testany(count, masked.data(), index, flag, status);
  due = masked.due();
  if (*flag != 0 && *index != MPI_UNDEFINED)
    masked.update(*index);
  else if (result == MPI_SUCCESS && *flag != 0 && !masked.is_all_ready())
    *flag = 0; // the library saw none of those that are held back
  return result;
}

int try_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses, Moment &due) {
  Masked masked{requests, count};
  const int result = next.Testsome(count, masked.data(), done, indices, statuses);
  due = masked.due();
  if (*done == MPI_UNDEFINED && !masked.is_all_ready()) *done = 0;
  for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++) masked.update(indices[i]);
  return result;
}

} // namespace haloscope::inject
