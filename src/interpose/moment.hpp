// Time as the libraries in front of MPI count it.
#pragma once

#include <cstdint>
#include <ctime>

namespace haloscope::interpose {

using Moment = std::int64_t; // nanoseconds

inline constexpr Moment second = 1'000'000'000;

// Of the system's monotonic clock.
inline Moment monotonic_time() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Moment>(time.tv_sec) * second + time.tv_nsec;
}

} // namespace haloscope::interpose
