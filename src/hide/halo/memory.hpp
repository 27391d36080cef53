// What the algorithms on shared memory stand on: the machine, or a test's model of a weaker one. Each is a
// template over this, starts from zeros, and lies in memory that several processes have mapped.
#pragma once

#include <atomic>
#include <cstddef>

namespace haloscope::stencil {

struct Machine {
  template <class T> using Plain = T;
  template <class T> using Atomic = std::atomic<T>;    // has one writer
  template <class T> using Contended = std::atomic<T>; // has several
};

// What two sides write stands so far apart: two lines, as processors fetch them in pairs.
inline constexpr std::size_t line = 128;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace haloscope::stencil
