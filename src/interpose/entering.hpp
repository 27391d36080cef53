// How a program's calls come into a library that stands before its MPI.
#pragma once

#include "interpose/active_call.hpp"
#include "interpose/library.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace haloscope::interpose {

[[gnu::always_inline]] inline void ensure_resolved() noexcept {
  if (__builtin_expect(!is_resolved.load(std::memory_order_acquire), 0)) resolve(__builtin_return_address(0));
}

// The base of a library's state in one MPI process.
struct Entered {
  std::atomic<bool> running{false};
  bool several_threads = false;
  std::mutex mutex; // of all the rest, where there are several threads
};

// The outermost call of a thread. Calls inside of it are ours, or MPI makes them itself.
struct OutermostCall {
  std::uintptr_t from = 0;    // where it returns to; 0: there is none
  std::mutex *held = nullptr; // by it
  InnerCalls inner;
};
inline constinit thread_local OutermostCall outermost;

// Whether the outermost call is active. If it was left by longjmp, it is over now: the library's `leave` ends
// what the call has begun.
template <auto *library> [[gnu::noinline, gnu::cold]] bool is_still_inside(const void *caller) noexcept {
  if (outermost.inner.is_inside(outermost.from, caller)) return true;
  outermost.from = 0;
  if (outermost.held != nullptr) std::exchange(outermost.held, nullptr)->unlock();
  library->leave();
  return false;
}
// Whether the function that asks was called inside of another call. `caller`: its HALOSCOPE_CALLER.
template <auto *library> inline bool is_inside(const void *caller = HALOSCOPE_CALLER) noexcept {
  return __builtin_expect(outermost.from != 0, 0) && is_still_inside<library>(caller);
}

template <auto *library> class LockOf {
public:
  LockOf() {
    if (!library->several_threads) return;
    library->mutex.lock();
    outermost.held = &library->mutex;
  }
  ~LockOf() {
    if (!library->several_threads) return;
    outermost.held = nullptr;
    library->mutex.unlock();
  }
  LockOf(const LockOf &) = delete;
  LockOf &operator=(const LockOf &) = delete;
};

// While it lives, other calls are inside this one. False if it is inside of one itself, or not `wanted`.
template <auto *library> class OutermostOf {
public:
  explicit OutermostOf(bool wanted = true, const void *caller = HALOSCOPE_CALLER) noexcept
      : active_(wanted && !is_inside<library>(caller)) {
    if (active_) outermost.from = return_address(caller);
  }
  ~OutermostOf() {
    if (active_) outermost.from = 0;
  }
  OutermostOf(const OutermostOf &) = delete;
  OutermostOf &operator=(const OutermostOf &) = delete;
  explicit operator bool() const noexcept { return active_; }

private:
  bool active_;
};

// One outermost call; false if nothing is to be done.
template <auto *library> class EntryOf : public OutermostOf<library> {
public:
  explicit EntryOf(const void *caller = HALOSCOPE_CALLER) noexcept
      : OutermostOf<library>(library->running.load(std::memory_order_acquire), caller) {}
};

// A place for the status where the program wants none.
class Status {
public:
  explicit Status(MPI_Status *given) noexcept : used_(given == MPI_STATUS_IGNORE ? &own_ : given) {}
  MPI_Status *operator()() noexcept { return used_; }

private:
  MPI_Status own_{};
  MPI_Status *used_;
};

// Called by a Fortran wrapper that has made a type and freed it. Handles of types may have a new meaning from
// then on.
void forget_types() noexcept;

} // namespace haloscope::interpose
