#include "hide/shm/holding.hpp"
#include "hide/shm/ahead.hpp"
#include "hide/shm/trials.hpp"
#include "hide/shm/waiting.hpp"

#include <algorithm>

namespace haloscope::shm {

namespace {

std::vector<Request *> abandoned; // NOLINT(bugprone-throwing-static-initialization)

// The end of a send that went our way, or of a persistent one that MPI carried.
bool settle(Request &request) {
  if (!request.active || request.there) return true;
  if (request.ahead != nullptr) {
    if (!has_left(*request.ahead)) return false;
  } else if (request.slot < 0) {
    int done = 0;
    request.error = next.Test(&request.token, &done, MPI_STATUS_IGNORE);
    if (request.error == MPI_SUCCESS && done == 0) return false;
  } else {
    if (!poll_send(request)) return false;
    release_slot(request);
  }
  if (!request.persistent) complete_handle(request.handle);
  request.there = true;
  return true;
}

} // namespace

bool may_complete(Request &request) {
  if (request.kind == Request::Kind::send) return settle(request);
  return !request.active || !request.large || poll_receive(request);
}

int complete_request(Request *request, MPI_Status &status) {
  int error = request->error;
  if (request->kind == Request::Kind::receive && request->active) error = end_receive(*request, status);
  request->active = false;
  if (request->persistent) return error;
  erase(request);
  drop(request);
  return error;
}

void peek_request(Request &request, MPI_Status &status) {
  if (request.kind != Request::Kind::receive || !request.active) return;
  const bool lent = request.lent;
  request.lent = false;
  end_receive(request, status);
  request.lent = lent;
  request.there = true;
}

int raise(MPI_Comm comm, int error) {
  if (error != MPI_SUCCESS) real.Comm_call_errhandler(comm, error);
  return error;
}

MPI_Status *statuses_for(int count, MPI_Status *given) {
  if (given != MPI_STATUSES_IGNORE) return given;
  thread_local std::vector<MPI_Status> own;
  own.resize(static_cast<std::size_t>(std::max(count, 1)));
  return own.data();
}

Batch::Batch(MPI_Request *requests, int count, bool takes_small)
    : given_(requests, static_cast<std::size_t>(std::max(count, 0))) {
  known_.clear();
  small_.clear();
  if (!any_known()) return;
  for (std::size_t i = 0; i < given_.size(); i++) {
    Target target{};
    if (takes_small && take_small(given_[i], target)) {
      small_.emplace_back(i, SmallReceive{interpose::value_of(given_[i]), target});
      any_ = true;
      continue;
    }
    Request *request = find(given_[i]);
    if (request == nullptr) continue;
    if (known_.empty()) known_.resize(given_.size());
    any_ = true;
    known_[i] = request;
  }
}

void Batch::leave() noexcept {
  left_ = true;
  for (Request *request : known_)
    if (request != nullptr) shm::leave(request);
}

void Batch::put_back() {
  for (const auto &[i, small] : small_) note_small(given_[i], small.target);
  small_.clear();
  for (Request *request : known_)
    if (left_ && request != nullptr) come_back(request);
}

bool Batch::may_complete() {
  bool all = true;
  for (Request *request : known_)
    if (request != nullptr && !shm::may_complete(*request)) {
      all = false;
      has_asked_ = has_asked_ || request->kind == Request::Kind::receive;
    }
  return all;
}

// Without the lock, as it calls the program's handler of errors.
int Batch::complete_all(MPI_Status *statuses, int result) {
  MPI_Comm comm = MPI_COMM_WORLD;
  const bool in_status = result != MPI_SUCCESS;
  {
    const Lock lock;
    if (!end_all(statuses, in_status, comm)) return result;
  }
  if (!in_status) raise(comm, MPI_ERR_IN_STATUS);
  return MPI_ERR_IN_STATUS;
}

// Returns whether something went wrong that MPI does not know of.
bool Batch::end_all(MPI_Status *statuses, bool in_status, MPI_Comm &comm) {
  std::vector<std::pair<std::size_t, int>> wrong;
  const auto note_error = [&](std::size_t i, int error, MPI_Comm own) {
    if (error == MPI_SUCCESS) return;
    wrong.emplace_back(i, error);
    comm = own;
  };
  for (const auto &[i, small] : small_) {
    if (in_status && statuses[i].MPI_ERROR == MPI_ERR_PENDING) note_small(given_[i], small.target);
    if (slot_of(interpose::received_bytes(statuses[i])) < 0 || interpose::was_cancelled(statuses[i]) ||
        (in_status && statuses[i].MPI_ERROR != MPI_SUCCESS))
      continue;
    note_error(i, receive_now(small.target, statuses[i]), small.target.comm);
  }
  for (std::size_t i = 0; i < known_.size(); i++) {
    if (known_[i] == nullptr) continue;
    if (in_status && statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
      come_back(known_[i]);
      continue;
    }
    const MPI_Comm own = known_[i]->comm;
    const bool failed = in_status && statuses[i].MPI_ERROR != MPI_SUCCESS;
    if (failed) known_[i]->there = true; // there is nothing to get
    const int error = shm::complete_request(known_[i], statuses[i]);
    if (!failed) note_error(i, error, own);
  }
  if (!wrong.empty() && !in_status)
    for (std::size_t i = 0; i < given_.size(); i++) statuses[i].MPI_ERROR = MPI_SUCCESS;
  for (const auto &[i, found] : wrong) statuses[i].MPI_ERROR = found;
  return !wrong.empty();
}

MPI_Request *Masked::refresh() {
  ready_.assign(given_.begin(), given_.end());
  held_ = false;
  for (std::size_t i = 0; i < known_.size(); i++)
    if (known_[i] != nullptr && !shm::may_complete(*known_[i])) {
      ready_[i] = MPI_REQUEST_NULL;
      held_ = true;
    }
  return ready_.data();
}

int Masked::update(int index, MPI_Status &status) {
  const auto i = static_cast<std::size_t>(index);
  given_[i] = ready_[i];
  if (known_.empty()) return MPI_SUCCESS;
  Request *request = known_[i];
  known_[i] = nullptr;
  return request == nullptr ? MPI_SUCCESS : shm::complete_request(request, status);
}

void Masked::fail(int index) {
  const auto i = static_cast<std::size_t>(index);
  given_[i] = ready_[i];
  MPI_Status status{};
  if (known_.empty() || known_[i] == nullptr) return;
  known_[i]->there = true; // there is nothing to get
  shm::complete_request(known_[i], status);
  known_[i] = nullptr;
}

std::optional<int> Masked::own(int from) const noexcept {
  for (auto i = static_cast<std::size_t>(from); i < known_.size(); i++) {
    const Request *request = known_[i];
    if (request != nullptr && request->persistent && request->active && request->there &&
        (request->kind == Request::Kind::send || request->was_seen))
      return static_cast<int>(i);
  }
  return std::nullopt;
}

int Masked::update_own(int index, MPI_Status &status, int &error) {
  const auto i = static_cast<std::size_t>(index);
  int done = 0;
  const int result = next.Test(&given_[i], &done, &status); // inactive: the empty status
  error = shm::complete_request(known_[i], status);
  known_[i] = nullptr;
  return result;
}

std::optional<int> start_request(MPI_Request handle) {
  Request *request = find(handle);
  if (request == nullptr) return {};
  request->active = true;
  request->there = request->was_seen = request->was_token = request->lost = request->cancelled = false;
  request->started = request->asked = 0;
  request->error = MPI_SUCCESS;
  if (request->kind == Request::Kind::receive) return {};
  if (begin_send(*request, request->mode, request->buffer, request->count, request->type,
                 {request->dest, request->tag, request->comm}))
    return MPI_SUCCESS;
  request->slot = -1;
  const int result = post_to_mpi(request->mode, request->buffer, request->count, request->type,
                                 {request->dest, request->tag, request->comm}, &request->token);
  request->active = result == MPI_SUCCESS;
  announced_is_posted();
  return result;
}

void forget_communicator(MPI_Comm comm) {
  if (!any_known()) return;
  for (Request *request : known_requests())
    if (request->comm == comm) request->comm = MPI_COMM_WORLD;
}

void finish_sends() {
  for (Waiting waiting; !abandoned.empty(); waiting()) {
    const Lock lock;
    finish_abandoned();
    if (std::ranges::none_of(abandoned, [](const Request *r) { return r->kind == Request::Kind::send; }))
      return;
  }
}

void finish_abandoned() {
  std::erase_if(abandoned, [](Request *request) {
    if (request->kind == Request::Kind::send) {
      if (!settle(*request)) return false;
      drop(request);
      return true;
    }
    int done = 0;
    MPI_Status status;
    MPI_Request handle = request->handle;
    if (request->large && !poll_receive(*request)) return false;
    next.Test(&handle, &done, &status);
    if (done == 0) return false;
    end_receive(*request, status);
    drop(request);
    return true;
  });
}

void abandon(Request *request) {
  erase(request);
  abandoned.push_back(request);
  shm.abandoned.store(true, std::memory_order_relaxed);
}

void attend_abandoned() {
  const Lock lock;
  finish_abandoned();
  shm.abandoned.store(!abandoned.empty(), std::memory_order_relaxed);
}

} // namespace haloscope::shm
