// The protocol layer in one MPI process.
//
// A message of at least the threshold to a rank of the same node, from memory that the node can map, is sent
// as a token in the program's own communicator and with its tag: MPI matches it as it would have matched the
// message. Whoever has the token takes the data straight from the sender's buffer. All else passes.
#pragma once

#include "library.hpp"
#include "node.hpp"
#include "options.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace haloscope::stencil::layer {

using watch::forward;
using watch::next;
using watch::real;
using watch::resolve;

inline void ensure_resolved() noexcept {
  if (__builtin_expect(next.Init == nullptr, 0)) resolve();
}

using Transferred = void (*)(const char *protocol, std::uint64_t bytes, std::uint32_t chunks,
                             std::uint32_t helpers, std::uint64_t nanoseconds);

struct Layer {
  std::atomic<bool> running{false};
  std::atomic<bool> abandoned{false}; // there are requests that the program has freed while they were active
  bool several_threads = false;
  std::mutex mutex; // of all that follows, where there are several threads
  Options options;
  std::unique_ptr<Node> node;
  Transferred transferred = nullptr; // the recorder's
};
extern Layer layer;
extern thread_local bool inside; // a call of ours, or one that the library makes itself

class Lock {
public:
  Lock() {
    if (layer.several_threads) layer.mutex.lock();
  }
  ~Lock() {
    if (layer.several_threads) layer.mutex.unlock();
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
};

void attend_abandoned();

// One outermost call; false if nothing is to be done.
class Entry {
public:
  Entry() noexcept : active_(layer.running.load(std::memory_order_acquire) && !inside) {
    if (!active_) return;
    inside = true;
    if (layer.abandoned.load(std::memory_order_relaxed)) attend_abandoned();
  }
  ~Entry() {
    if (active_) inside = false;
  }
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;
  explicit operator bool() const noexcept { return active_; }

private:
  bool active_;
};

void initialise();
void finalise() noexcept;

} // namespace haloscope::stencil::layer
