#include "hide/inject/held.hpp"
#include "hide/inject/injection.hpp"

#include <algorithm>

namespace haloscope::inject {

using interpose::value_of;

Kept known(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  const Lock lock;
  const auto found = state.requests.find(value_of(handle));
  return found == state.requests.end() ? nullptr : found->second;
}

std::vector<Kept> known(const MPI_Request *handles, int count) {
  std::vector<Kept> result(static_cast<std::size_t>(std::max(count, 0)));
  for (std::size_t i = 0; i < result.size(); i++) result[i] = known(handles[i]);
  return result;
}

void keep(MPI_Request handle, const Request &request) {
  if (handle == MPI_REQUEST_NULL || interpose::is_finished(handle)) return;
  Kept &place = state.requests[value_of(handle)];
  if (place != nullptr && place->completing != std::thread::id{}) state.displaced.push_back(place);
  place = std::make_shared<Request>(request);
  place->handle = handle;
  place->order = state.posted++;
}

void remember(MPI_Request handle, const Request &request) {
  const Lock lock;
  keep(handle, request);
}

void remember_due(Request &request, Moment due) {
  const Lock lock;
  request.due = due;
  request.received = true;
}

Completing::Completing(std::span<const Kept> requests) : requests_(requests) {
  if (!state.several_threads) return;
  const Lock lock;
  for (const Kept &request : requests_)
    if (request != nullptr) request->completing = std::this_thread::get_id();
}

Completing::~Completing() {
  if (!state.several_threads) return;
  const Lock lock;
  for (const Kept &request : requests_)
    if (request != nullptr) request->completing = {};
}

// MPI has completed those whose handles belong to others by now.
void State::leave() noexcept {
  if (!several_threads) return;
  const Lock lock;
  const auto is_left = [own = std::this_thread::get_id()](const Kept &request) {
    return request->completing == own;
  };
  std::erase_if(displaced, is_left);
  for (auto &[handle, request] : requests)
    if (is_left(request)) request->completing = {};
}

void remember_cancelled(MPI_Request handle) {
  const Lock lock;
  const auto found = state.requests.find(value_of(handle));
  if (found != state.requests.end()) found->second->cancelled = true;
}

void complete(const Kept &request, int result) {
  if (!request) return;
  {
    const Lock lock;
    request->active = false;
    const auto found = state.requests.find(value_of(request->handle));
    if (found == state.requests.end() || found->second != request)
      std::erase(state.displaced, request);
    else if (!request->persistent)
      state.requests.erase(found);
  }
  if (request->duplicate) finish(*request->duplicate, result == MPI_SUCCESS);
}

void complete_at_once(const Kept &request, int result, const MPI_Status &status) {
  if (request && result != MPI_SUCCESS && has_message(result)) due_of(*request, status);
  complete(request, result);
}

void forget(MPI_Request handle) {
  const Lock lock;
  state.requests.erase(value_of(handle));
}

void begin(MPI_Request handle) {
  const Kept before = known(handle);
  if (!before) return;
  Request request = *before;
  request.active = true;
  request.cancelled = request.received = false;
  request.due.reset();
  if (request.kind == Request::Kind::send) {
    const Lock lock;
    stamp(*request.communicator, request.partner, request.tag);
  } else if (request.kind == Request::Kind::timed) {
    request.due = collective_due(request.link, now());
  } else if (request.kind == Request::Kind::partitioned) {
    begin(*request.partitions);
  }
  remember(handle, request);
}

namespace {

// No other thread takes its stamp from then on.
std::optional<Moment> claimed(Request &request) {
  const Lock lock;
  if (request.due) request.received = true;
  return request.due;
}

} // namespace

Moment due_of(Request &request, const MPI_Status &status) {
  using Kind = Request::Kind;
  if (!request.active) return 0;
  if (request.kind == Kind::partitioned) return all_arrived(*request.partitions, true).value_or(0);
  if (const auto due = claimed(request); due || request.kind == Kind::timed) return due.value_or(0);
  if (request.kind != Kind::receive || interpose::was_cancelled(status)) return 0;
  return arrival(request.communicator.get(), status, true, &request).value_or(0);
}

namespace {

// The arrival of a request that MPI has completed, if it is known yet.
std::optional<Moment> due_now(Request &request, const MPI_Status &status) {
  using Kind = Request::Kind;
  if (const auto due = claimed(request)) return due;
  if (request.kind == Kind::partitioned) return all_arrived(*request.partitions, false);
  if (request.kind == Kind::duplicate)
    return is_made(*request.duplicate) ? std::optional<Moment>{0} : std::nullopt;
  if (request.kind != Kind::receive || interpose::was_cancelled(status)) return 0;
  return arrival(request.communicator.get(), status, false, &request);
}

} // namespace

bool keep_freed(MPI_Request handle) {
  sweep_freed();
  const Lock lock;
  const auto found = state.requests.find(value_of(handle));
  if (found == state.requests.end()) return false;
  Request &request = *found->second;
  if (request.kind != Request::Kind::receive || !request.active || request.due) {
    state.requests.erase(found);
    return false;
  }
  request.freed = true;
  state.freed++;
  return true;
}

void sweep_freed(bool all) {
  std::vector<Kept> freed;
  {
    const Lock lock;
    if (state.freed == 0) return;
    for (const auto &[handle, request] : state.requests)
      if (request->freed) freed.push_back(request);
  }
  for (const Kept &request : freed) {
    int done = 0;
    MPI_Status status{};
    const bool fails = real.Request_get_status(request->handle, &done, &status) != MPI_SUCCESS;
    // The stamp was sent before its message. At the end nothing may stay behind.
    if (done != 0 && !fails && all) due_of(*request, status);
    if (!all && !fails && (done == 0 || !due_now(*request, status))) continue;
    {
      const Lock lock;
      if (state.requests.erase(value_of(request->handle)) == 0) continue; // by another thread
      state.freed--;
    }
    real.Request_free(&request->handle);
  }
}

bool may_complete(const Kept &request, Moment &due) {
  if (!request || !request->active || request->kind == Request::Kind::send) return true;
  int done = 0;
  MPI_Status status{};
  if (real.Request_get_status(request->handle, &done, &status) != MPI_SUCCESS)
    return true; // the program's call fails
  if (done == 0) return false;
  const auto arrives = due_now(*request, status);
  if (!arrives) return false;
  remember_due(*request, *arrives);
  if (*arrives <= now()) return true;
  due = std::min(due, *arrives);
  return false;
}

int peeked_any(int count, const MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
  bool none = true;
  Moment due = INT64_MAX;
  *index = MPI_UNDEFINED;
  *flag = 0;
  for (int i = 0; i < count && *flag == 0; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    none = false;
    if (!may_complete(known(requests[i]), due)) continue;
    if (const int result = real.Request_get_status(requests[i], flag, status); result != MPI_SUCCESS)
      return result;
    if (*flag != 0) *index = i;
  }
  if (!none) return MPI_SUCCESS;
  return real.Request_get_status(MPI_REQUEST_NULL, flag, status);
}

int peeked_some(int count, const MPI_Request *requests, int *done, int *indices, MPI_Status *statuses) {
  bool none = true;
  Moment due = INT64_MAX;
  *done = 0;
  for (int i = 0; i < count; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    none = false;
    if (!may_complete(known(requests[i]), due)) continue;
    int flag = 0;
    MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + *done;
    if (const int result = real.Request_get_status(requests[i], &flag, status); result != MPI_SUCCESS)
      return result;
    if (flag != 0) indices[(*done)++] = i;
  }
  if (none) *done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

Masked::Masked(MPI_Request *requests, int count)
    : given_(requests, static_cast<std::size_t>(std::max(count, 0))), ready_(given_.begin(), given_.end()),
      before_(known(requests, count)) {
  for (std::size_t i = 0; i < ready_.size(); i++) {
    MPI_Request &request = ready_[i];
    Moment due = INT64_MAX;
    if (may_complete(before_[i], due)) {
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

void Masked::update(int index, int result, const MPI_Status &status) {
  const auto i = static_cast<std::size_t>(index);
  given_[i] = ready_[i];
  complete_at_once(before_[i], result, status);
}

int try_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *given, Moment &due) {
  interpose::Status status{given};
  Masked masked{requests, count};
  const Completing completing{masked.requests()};
  const int result = next.Testany(count, masked.data(), index, flag, status());
  due = masked.due();
  if (*flag != 0 && *index != MPI_UNDEFINED)
    masked.update(*index, result, *status());
  else if (result == MPI_SUCCESS && *flag != 0 && !masked.is_all_ready())
    *flag = 0; // MPI has not seen the requests that are held back
  return result;
}

int try_some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *given, Moment &due) {
  Masked masked{requests, count};
  const Completing completing{masked.requests()};
  std::vector<MPI_Status> own(given == MPI_STATUSES_IGNORE ? static_cast<std::size_t>(count) : 0);
  MPI_Status *statuses = own.empty() ? given : own.data();
  const int result = next.Testsome(count, masked.data(), done, indices, statuses);
  due = masked.due();
  if (*done == MPI_UNDEFINED && !masked.is_all_ready()) *done = 0;
  for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++)
    masked.update(indices[i], result == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : result, statuses[i]);
  return result;
}

} // namespace haloscope::inject
