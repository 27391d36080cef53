// Time stamps at the price of one instruction.
//
// A tick is a cycle of the invariant time stamp counter (x86-64) or of the generic timer (AArch64);
// where neither is there, a nanosecond of CLOCK_MONOTONIC. The stamp is not serialising: rdtscp or a
// fence costs 13 ns a call more, to order a few instructions.
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace haloscope::watch {

inline std::uint64_t nanoseconds(clockid_t clock = CLOCK_MONOTONIC) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

// Whether the counter runs at one rate in all power states (CPUID 8000_0007h, EDX bit 8).
inline bool counter_is_invariant() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8U)) != 0;
#else
  return true;
#endif
}

inline const bool use_counter = counter_is_invariant();

#if defined(HALOSCOPE_ABI_SIMGRID)
inline constexpr double seconds_per_simulated_tick = 1e-12;
inline bool ranks_compute = true; // not where a trace says how long they do
std::uint64_t ticks() noexcept;   // of the simulated clock: simulation.cpp
#else
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  if (__builtin_expect(use_counter, 1)) return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
  return nanoseconds();
}
#endif

// One simultaneous reading of both clocks; two of them give the length of a tick.
struct ClockPair {
  std::uint64_t tick;
  std::uint64_t nanosecond;

  static ClockPair now() noexcept {
#if defined(HALOSCOPE_ABI_SIMGRID)
    const std::uint64_t tick = ticks();
    return {tick, static_cast<std::uint64_t>(static_cast<double>(tick) * seconds_per_simulated_tick * 1e9)};
#else
    // The fastest of several readings: a delay between both clocks would make all times of a short run wrong.
    ClockPair found{};
    for (std::uint64_t i = 0, least = ~std::uint64_t{0}; i < 4; i++) {
      const std::uint64_t before = ticks();
      const std::uint64_t nanosecond = nanoseconds();
      const std::uint64_t between = ticks() - before;
      if (between >= least) continue;
      least = between;
      found = {before + between / 2, nanosecond};
    }
    return found;
#endif
  }
};

inline double seconds_per_tick(ClockPair first, ClockPair last) noexcept {
  // Neither goes back on a machine as it should be; where one did, nothing is known.
  if (last.tick <= first.tick || last.nanosecond <= first.nanosecond) return 1e-9;
  return 1e-9 * static_cast<double>(last.nanosecond - first.nanosecond) /
         static_cast<double>(last.tick - first.tick);
}

} // namespace haloscope::watch
