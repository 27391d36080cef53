#include "watch/requests.hpp"

#include <sys/mman.h>

namespace haloscope::watch {

namespace {

// Zeroed address space; only what is touched becomes memory.
void *reserve(std::size_t bytes) noexcept {
  void *memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Puts new space into an empty place; whoever comes second uses the first one's.
template <class T> T *fill(std::atomic<T *> &place, std::size_t count) noexcept {
  T *known = place.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void *memory = reserve(count * sizeof(T));
  if (memory == nullptr) return nullptr;
  if (place.compare_exchange_strong(known, static_cast<T *>(memory), std::memory_order_acq_rel))
    return static_cast<T *>(memory);
  munmap(memory, count * sizeof(T));
  return known;
}

} // namespace

Request *RequestTable::make_leaf(Middle &top, std::uintptr_t index) noexcept {
  Leaf *middle = fill(top, 1U << middle_bits);
  return middle == nullptr ? nullptr : fill(middle[index], 1U << slots_bits);
}

} // namespace haloscope::watch
