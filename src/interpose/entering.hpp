// How a program's calls come into a library that stands before its MPI.
#pragma once

#include "interpose/library.hpp"

#include <atomic>
#include <mutex>

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

inline constinit thread_local bool inside = false; // a call of ours, or one that MPI makes itself

template <auto *library> class LockOf {
public:
  LockOf() {
    if (library->several_threads) library->mutex.lock();
  }
  ~LockOf() {
    if (library->several_threads) library->mutex.unlock();
  }
  LockOf(const LockOf &) = delete;
  LockOf &operator=(const LockOf &) = delete;
};

// One outermost call; false if nothing is to be done.
template <auto *library> class EntryOf {
public:
  EntryOf() noexcept : active_(library->running.load(std::memory_order_acquire) && !inside) {
    if (active_) inside = true;
  }
  ~EntryOf() {
    if (active_) inside = false;
  }
  EntryOf(const EntryOf &) = delete;
  EntryOf &operator=(const EntryOf &) = delete;
  explicit operator bool() const noexcept { return active_; }

private:
  bool active_;
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
