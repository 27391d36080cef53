// The records of pending requests and matched messages, found by handle without locks.
//
// A radix tree over the handle's value. Every live request has a slot of its own, so threads never share one
// and no lock is needed. In Open MPI, request objects are at least 64 bytes apart, so a slot covers 64 bytes
// of addresses. Integer handles (MPICH) have a slot each. Leaves are reserved address space, and only pages
// with requests are touched.
//
// MPI reuses handles at once, and finished sends may share one handle (MPICH; MPI_PROC_NULL in both). So
// every call that makes a request overwrites or clears its slot. A slot is read *before* the call that may
// free the request.
#pragma once

#include "watch/records/functions.hpp"
#include "watch/records/memory_kind.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace haloscope::watch {

struct MessageRecord;

// partitioned: a receive whose sender and size are known before, and whose status has neither.
enum class Pending : std::uint8_t { none, send, receive, partitioned, collective, one_sided, io };

// The messages of a persistent neighbourhood collective to or from one rank.
struct Flow {
  int rank;
  bool outgoing;
  std::uint64_t bytes;
};

// Half a cache line.
struct Request {
  static constexpr std::uint8_t persistent = 1;
  static constexpr std::uint8_t idle = 2;        // persistent and not started
  static constexpr std::uint8_t shared = 4;      // several sends have this handle
  static constexpr std::uint8_t cancelling = 8;  // MPI_Cancel was called
  static constexpr std::uint8_t exchanging = 16; // the call that receives sends as well
  static constexpr unsigned memory_place = 5;    // from this bit on: where the buffer lies

  Pending kind = Pending::none;
  std::uint8_t flags = 0;
  Function function{};            // that made it
  std::int32_t partner = 0;       // as the communicator calls it; -1 for a receive from any source
  std::uint32_t communicator = 0; // its number
  std::int32_t tag = 0;
  std::uint64_t bytes : 56 = 0; // a send's payload, a receive's room
  std::uint64_t post : 8 = 0;   // where the thread remembers the arguments; 0: nowhere
  union {
    MessageRecord *record = nullptr; // where such a message counted last, if known
    std::vector<Flow> *flows;        // of a persistent collective
  };

  [[nodiscard]] bool has(std::uint8_t flag) const noexcept { return (flags & flag) != 0; }
  [[nodiscard]] Memory memory() const noexcept { return memory_of_number(flags >> memory_place); }
  static std::uint8_t flags_of(Memory memory) noexcept {
    return static_cast<std::uint8_t>(number_of(memory) << memory_place);
  }
  // Of this kind, without any flag: its buffer is the host's.
  [[nodiscard]] bool is_plain(Pending wanted) const noexcept {
    std::uint16_t both = 0;
    __builtin_memcpy(&both, this, sizeof both);
    return both == static_cast<std::uint16_t>(wanted);
  }
};
static_assert(sizeof(Request) == 32);

// Zeroed address space. Only touched pages become memory. nullptr if there is none.
void *reserve_space(std::size_t bytes) noexcept;
void release_space(void *space, std::size_t bytes) noexcept;

// A T for each handle.
template <class T> class HandleTable {
public:
  // The part of the table that a thread used last: most handles are near each other.
  struct Recent {
    std::uintptr_t number = ~std::uintptr_t{0};
    T *leaf = nullptr;
  };
  [[gnu::always_inline]] T *slot(std::uintptr_t handle, Recent &recent) noexcept {
    const std::uintptr_t object = object_of(handle);
    // Integers and pointers have tables of their own.
    const std::uintptr_t number = (object >> slots_bits) << 1U | (is_integer(handle) ? 1U : 0U);
    if (__builtin_expect(number != recent.number, 0)) {
      T *found = slot(handle);
      if (found == nullptr) return nullptr;
      recent = {number, found - (object & ((1U << slots_bits) - 1))};
    }
    return recent.leaf + (object & ((1U << slots_bits) - 1));
  }

  // The slot of a handle; nullptr if there is no memory for it.
  [[gnu::noinline]] T *slot(std::uintptr_t handle) noexcept {
    const std::uintptr_t object = object_of(handle);
    const std::uintptr_t index = object >> slots_bits & ((1U << middle_bits) - 1);
    auto &top =
        (is_integer(handle) ? integers_
                            : pointers_)[object >> (slots_bits + middle_bits) & ((1U << top_bits) - 1)];
    if (Leaf *middle = top.load(std::memory_order_acquire))
      if (T *leaf = middle[index].load(std::memory_order_acquire))
        return leaf + (object & ((1U << slots_bits) - 1));
    T *leaf = make_leaf(top, index);
    return leaf == nullptr ? nullptr : leaf + (object & ((1U << slots_bits) - 1));
  }

private:
  static constexpr unsigned slots_bits = 14; // a leaf
  static constexpr unsigned object_bits = 6; // 64 bytes an object
  static constexpr unsigned middle_bits = 14;
  static constexpr unsigned top_bits = 14;
  using Leaf = std::atomic<T *>;
  using Middle = std::atomic<Leaf *>;

  static constexpr std::uintptr_t object_of(std::uintptr_t handle) noexcept {
    return is_integer(handle) ? handle : handle >> object_bits;
  }
  static constexpr bool is_integer([[maybe_unused]] std::uintptr_t handle) noexcept {
#if defined(HALOSCOPE_ABI_OPENMPI)
    return false;
#elif defined(HALOSCOPE_ABI_MPICH)
    return true;
#else // either: MPICH's integers have 32 bits, pointers lie above
    return handle >> 32U == 0;
#endif
  }
  // Puts new space into an empty place; whoever comes second uses the first one's.
  template <class U> static U *fill(std::atomic<U *> &place, std::size_t count) noexcept {
    U *known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    void *space = reserve_space(count * sizeof(U));
    if (space == nullptr) return nullptr;
    if (place.compare_exchange_strong(known, static_cast<U *>(space), std::memory_order_acq_rel))
      return static_cast<U *>(space);
    release_space(space, count * sizeof(U));
    return known;
  }
  [[gnu::noinline, gnu::cold]] static T *make_leaf(Middle &top, std::uintptr_t index) noexcept {
    Leaf *middle = fill(top, 1U << middle_bits);
    return middle == nullptr ? nullptr : fill(middle[index], 1U << slots_bits);
  }

  Middle pointers_[1U << top_bits] = {};
  Middle integers_[1U << top_bits] = {};
};

using RequestTable = HandleTable<Request>;

} // namespace haloscope::watch
