// The records of the requests that a call may complete.
//
// With MPI_THREAD_MULTIPLE a request's slot must be read before the call: MPI may give the handle to another
// thread's new request before the call returns. With one thread, the slot is read after the call, so that
// polls are cheap.
#pragma once

#include "watch/counting/posts.hpp"

#include <optional>
#include <span>

namespace haloscope::watch {

inline bool counts(const Request &request) noexcept {
  return request.kind != Pending::none && !request.has(Request::idle);
}

// Forgets a request that is complete; a persistent one becomes inactive.
inline void forget(Request &slot) noexcept {
  if (slot.has(Request::persistent))
    slot.flags |= Request::idle;
  else if (!slot.has(Request::shared))
    slot.kind = Pending::none;
}

// The record of one handle, read before the call that completes it.
class Claim {
public:
  Claim(ThreadState &state, MPI_Request handle) noexcept : slot_(request_slot(state, handle)) {
    if (slot_ == nullptr) return;
    taken_ = *slot_;
    forget(*slot_);
  }
  Request *request() noexcept { return &taken_; }
  // It is not complete.
  void give_back() const noexcept {
    if (slot_ != nullptr) *slot_ = taken_;
  }

private:
  Request *slot_;
  Request taken_;
};

// The same for the handles of one call that may complete some of them.
class Claims {
public:
  Claims(ThreadState &state, std::span<const MPI_Request> handles) : state_(state), count_(handles.size()) {
    state.make_room(count_);
    for (std::size_t i = 0; i < count_; i++) state.handles[i] = handles[i];
    if (__builtin_expect(global().several_threads, 0)) take();
  }

  // After the call: the record of the i-th request, or nullptr.
  Request *request(std::size_t i) noexcept {
    if (__builtin_expect(state_.ring != nullptr, 0))
      state_.completing = global().several_threads ? state_.numbers[i] : number_of(state_, state_.handles[i]);
    return global().several_threads ? &state_.taken[i] : request_slot(state_, state_.handles[i]);
  }
  // Ends the call. Requests that are not complete keep their records.
  void give_back() noexcept {
    if (__builtin_expect(global().several_threads, 0)) put_back();
  }

private:
  [[gnu::noinline]] void take() noexcept {
    for (std::size_t i = 0; i < count_; i++) {
      Request *slot = request_slot(state_.handles[i]);
      state_.taken[i] = slot == nullptr ? Request{} : *slot;
      if (state_.ring != nullptr) state_.numbers[i] = number_of(state_, state_.handles[i]);
      if (slot != nullptr) forget(*slot);
    }
  }
  [[gnu::noinline]] void put_back() noexcept {
    for (std::size_t i = 0; i < count_; i++)
      if (state_.taken[i].kind != Pending::none)
        if (Request *slot = request_slot(state_.handles[i])) *slot = state_.taken[i];
  }

  ThreadState &state_;
  std::size_t count_;
};

// For MPI_Waitall: looks up all requests at once.
class AllClaims {
public:
  AllClaims(ThreadState &state, std::span<const MPI_Request> handles)
      : state_(state), count_(handles.size()) {
    state.make_room(count_);
    if (__builtin_expect(state.ring != nullptr, 0))
      for (std::size_t i = 0; i < count_; i++) state.numbers[i] = number_of(state, handles[i]);
    if (__builtin_expect(global().several_threads, 0)) {
      take(handles);
      return;
    }
    Request **known = state.known.data();
    std::size_t active = 0;
    for (std::size_t i = 0; i < handles.size(); i++) {
      Request *request = request_slot(state, handles[i]);
      if (request != nullptr && !counts(*request)) request = nullptr;
      known[i] = request;
      if (first_ == nullptr) first_ = request;
      active += request == nullptr ? 0 : 1;
    }
    active_ = active;
  }
  // nullptr for those that do not count.
  [[nodiscard]] std::span<Request *> requests() const noexcept { return {state_.known.data(), count_}; }
  [[nodiscard]] std::size_t active() const noexcept { return active_; }
  // The first that counts; nullptr if none does.
  [[nodiscard]] const Request *first() const noexcept { return first_; }
  void give_back() noexcept {
    if (__builtin_expect(several_.has_value(), 0)) several_->give_back();
  }

private:
  [[gnu::noinline]] void take(std::span<const MPI_Request> handles) {
    several_.emplace(state_, handles);
    for (std::size_t i = 0; i < count_; i++) {
      Request *request = &state_.taken[i];
      state_.known[i] = counts(*request) ? request : nullptr;
      if (first_ == nullptr) first_ = state_.known[i];
      active_ += counts(*request) ? 1 : 0;
    }
  }

  ThreadState &state_;
  std::size_t count_, active_ = 0;
  const Request *first_ = nullptr;
  std::optional<Claims> several_;
};

} // namespace haloscope::watch
