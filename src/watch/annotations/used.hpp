// Whose markers the program has: the row `annotations` of `info`.
#pragma once

#include <atomic>

namespace haloscope::watch {

// In the order in which they are shown; the names are in used.cpp.
enum class Interface : unsigned { caliper, adiak, kokkos, nvtx, itt, petsc, hypre, p4est };

extern std::atomic<unsigned> interfaces_used; // bits
[[gnu::noinline, gnu::cold]] void say_interface(Interface used) noexcept;

// From any thread. One load and a branch from the second time on.
inline void uses(Interface interface) noexcept {
  const unsigned bit = 1U << static_cast<unsigned>(interface);
  if (__builtin_expect((interfaces_used.load(std::memory_order_relaxed) & bit) == 0, 0))
    say_interface(interface);
}

} // namespace haloscope::watch
