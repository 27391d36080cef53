// Nanoseconds of the system's monotonic clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace haloscope::stencil::layer {

using Moment = std::int64_t;

inline Moment now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * Moment{1'000'000'000} + time.tv_nsec;
}

} // namespace haloscope::stencil::layer
