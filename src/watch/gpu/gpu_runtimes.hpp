// Questions to GPU runtimes about an address. No runtime is linked or opened: only those that the program has
// loaded are asked, by their exported functions.
#pragma once

#include "watch/records/memory_kind.hpp"

#include <cstdint>

namespace haloscope::watch {

// An allocation. Of host memory that no runtime knows there is none.
struct Allocation {
  std::uintptr_t begin = 0, end = 0; // equal: nothing but the kind is known
  std::uint64_t identity = 0;        // of all that were ever made in the process; 0: it has none
  Memory memory = Memory::host;
  std::uint8_t runtime = 0; // which one said so
};

// Looks for runtimes that were not there before. Returns whether there is any.
[[gnu::cold]] bool find_gpu_runtimes() noexcept;

// The allocation at the address now.
Allocation ask_allocation(std::uintptr_t address) noexcept;
// Whether that is the same allocation still: its memory was not freed, and used again, meanwhile.
bool is_still(const Allocation &known, std::uintptr_t address) noexcept;

// Level Zero says nothing of an address without a context: the last few that the program has made.
void note_level_zero_context(void *context) noexcept;

} // namespace haloscope::watch
