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

namespace haloscope::watch {

struct Communicator;

enum class Pending : std::uint8_t { none, send, receive, collective, one_sided, io };

struct Request {
  Pending kind = Pending::none;
  bool persistent = false;
  bool active = true; // a persistent one between Start and completion
  bool shared = false; // several sends have this handle
  Function function{}; // that made it
  std::int32_t partner = 0; // as the communicator calls it; -1 for a receive from any source
  const Communicator *communicator = nullptr;
  std::uint64_t bytes = 0; // a send's payload, a receive's room
};

class RequestTable {
public:
  // The slot of a handle; nullptr if there is no memory for it.
  Request *slot(std::uintptr_t handle) noexcept {
    const std::uintptr_t leaf_number = handle >> leaf_bits(handle);
    Request *leaf = find_leaf(handle, leaf_number);
    return leaf == nullptr ? nullptr : leaf + slot_in_leaf(handle);
  }

private:
  static constexpr unsigned slots_bits = 14; // a leaf
  static constexpr unsigned object_bits = 6; // 64 bytes an object
  static constexpr unsigned middle_bits = 14;
  static constexpr unsigned top_bits = 14;
  using Leaf = std::atomic<Request *>;
  using Middle = std::atomic<Leaf *>;

  // MPICH's handles are 32-bit integers; pointers lie above.
  static constexpr bool is_integer(std::uintptr_t handle) noexcept { return handle >> 32U == 0; }
  static constexpr unsigned leaf_bits(std::uintptr_t handle) noexcept {
    return is_integer(handle) ? slots_bits : slots_bits + object_bits;
  }
  static constexpr std::uintptr_t slot_in_leaf(std::uintptr_t handle) noexcept {
    return (is_integer(handle) ? handle : handle >> object_bits) & ((1U << slots_bits) - 1);
  }

  Request *find_leaf(std::uintptr_t handle, std::uintptr_t number) noexcept {
    Middle &top = (is_integer(handle) ? integers_ : pointers_)[number >> middle_bits &
                                                               ((1U << top_bits) - 1)];
    Leaf *middle = top.load(std::memory_order_acquire);
    if (__builtin_expect(middle != nullptr, 1)) {
      Request *leaf =
          middle[number & ((1U << middle_bits) - 1)].load(std::memory_order_acquire);
      if (__builtin_expect(leaf != nullptr, 1)) return leaf;
    }
    return make_leaf(top, number & ((1U << middle_bits) - 1));
  }
  [[gnu::noinline, gnu::cold]] static Request *make_leaf(Middle &top, std::uintptr_t index) noexcept;

  Middle pointers_[1U << top_bits] = {};
  Middle integers_[1U << top_bits] = {};
};

} // namespace haloscope::watch
