// The kind of memory of a call's buffer, in processes that have a GPU.
//
// Budget: without a GPU's runtime in the process, one load and one well predicted branch per call. With one,
// buffers in the heap, in the program's data or on the thread's own stack are recognised as host memory. Any
// other buffer costs one call of the runtime.
#pragma once

#include "watch/gpu/gpu_runtimes.hpp"

#include <array>
#include <atomic>
#include <mpi.h>

namespace haloscope::watch {

// Whether a runtime was found: at MPI_Init, when a thread or a region calls a function that is new to it, and
// with each slice of time.
extern std::atomic<bool> has_gpu_runtime;
void look_for_gpu() noexcept;

// A thread's cache of memory kinds. An entry is used only after the runtime has confirmed that the memory was
// not freed meanwhile.
struct KnownMemory {
  static constexpr unsigned most = 16;
  std::array<Allocation, most> allocations{};
  unsigned latest = 0, next = 0;
  std::uintptr_t stack_begin = 0, stack_end = 0; // the thread's own

  // The offset of a datatype's first byte from the buffer's address.
  struct Lowest {
    MPI_Datatype datatype;
    MPI_Aint offset;
    bool is_known;
  };
  std::array<Lowest, 32> lowest{};

  // Host memory that copies from a device went to, and how many bytes; 0: it was sent since.
  struct Copied {
    std::uintptr_t begin;
    std::uint64_t bytes;
  };
  std::array<Copied, 32> copied{};
  unsigned next_copied = 0;
};

// The address of the first byte that a call reads or writes.
std::uintptr_t first_byte(KnownMemory &known, const void *buffer, MPI_Datatype datatype) noexcept;
// The kind of memory at an address.
Memory memory_at(KnownMemory &known, std::uintptr_t address) noexcept;
// Notes a copy of `bytes` from a device to the host.
inline void note_copied(KnownMemory &known, const void *to, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(to);
  for (KnownMemory::Copied &copied : known.copied) // the same buffer, used again
    if (copied.begin == begin) copied.bytes = 0;
  known.copied[known.next_copied] = {begin, bytes};
  known.next_copied = (known.next_copied + 1) % known.copied.size();
}

[[gnu::always_inline]] inline bool may_be_device() noexcept {
#if defined(HALOSCOPE_WITHOUT_GPUS) // benchmarks/watch/parts.py
  return false;
#else
  return __builtin_expect(static_cast<long>(has_gpu_runtime.load(std::memory_order_relaxed)), 0L) != 0;
#endif
}

} // namespace haloscope::watch
