// What a pending request or matched message is, found by its handle without locks.
//
// A radix tree over the handle's value: every live request has a slot of its own, so that threads
// never share one and no lock is needed. Request objects are at least 64 bytes apart in Open MPI, so
// a slot stands for 64 bytes of address; integer handles (MPICH) have a slot each. Leaves are
// reserved address space, touched only where requests are.
//
// Handles are reused at once, and finished sends may share one handle (MPICH; MPI_PROC_NULL in both):
// every call that makes a request overwrites or clears its slot, and a slot is taken out *before* the
// call that may free the request.
#pragma once

#include "functions.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace haloscope::watch {

struct Communicator;
struct Node;

// partitioned: a receive whose sender and size are known beforehand, and whose status tells neither.
enum class Pending : std::uint8_t { none, send, receive, partitioned, collective, one_sided, io };

// What a persistent neighbourhood collective sends to or receives from one rank each time.
struct Flow {
  int rank;
  bool outgoing;
  std::uint64_t bytes;
};

struct Request {
  Pending kind = Pending::none;
  bool persistent = false;
  bool active = true;       // a persistent one between Start and completion
  bool shared = false;      // several sends have this handle
  bool cancelling = false;  // MPI_Cancel was called
  Function function{};      // that made it
  std::int32_t partner = 0; // as the communicator calls it; -1 for a receive from any source
  const Communicator *communicator = nullptr;
  std::uint64_t bytes = 0; // a send's payload, a receive's room
  Node *node = nullptr;    // where a send counted
  std::vector<Flow> *flows = nullptr;
};

class RequestTable {
public:
  // The slot of a handle; nullptr if there is no memory for it.
  [[gnu::always_inline]] Request *slot(std::uintptr_t handle) noexcept {
    const std::uintptr_t object = is_integer(handle) ? handle : handle >> object_bits;
    const std::uintptr_t index = object >> slots_bits & ((1U << middle_bits) - 1);
    auto &top =
        (is_integer(handle) ? integers_
                            : pointers_)[object >> (slots_bits + middle_bits) & ((1U << top_bits) - 1)];
    if (Leaf *middle = top.load(std::memory_order_acquire))
      if (Request *leaf = middle[index].load(std::memory_order_acquire))
        return leaf + (object & ((1U << slots_bits) - 1));
    Request *leaf = make_leaf(top, index);
    return leaf == nullptr ? nullptr : leaf + (object & ((1U << slots_bits) - 1));
  }

private:
  static constexpr unsigned slots_bits = 14; // a leaf
  static constexpr unsigned object_bits = 6; // 64 bytes an object
  static constexpr unsigned middle_bits = 14;
  static constexpr unsigned top_bits = 14;
  using Leaf = std::atomic<Request *>;
  using Middle = std::atomic<Leaf *>;

  static constexpr bool is_integer([[maybe_unused]] std::uintptr_t handle) noexcept {
#if defined(HALOSCOPE_ABI_OPENMPI)
    return false;
#elif defined(HALOSCOPE_ABI_MPICH)
    return true;
#else // either: MPICH's integers have 32 bits, pointers lie above
    return handle >> 32U == 0;
#endif
  }
  [[gnu::noinline, gnu::cold]] static Request *make_leaf(Middle &top, std::uintptr_t index) noexcept;

  Middle pointers_[1U << top_bits] = {};
  Middle integers_[1U << top_bits] = {};
};

} // namespace haloscope::watch
