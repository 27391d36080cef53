// The time of calls that were not stamped, estimated from samples of them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace haloscope::watch {

// Of one region. A sample adds what the calls took that it represents. That counts only when it is settled:
// at the end of a slice of time and at the collection, as far as the region had time outside of stamped
// calls. What there was no time for waits for the next slice.
struct Estimate {
  std::uint64_t ticks, settled;
  std::uint64_t outside; // the region's ticks outside of stamped calls, when it was last settled

  // Returns what is settled in addition.
  std::uint64_t settle(std::uint64_t outside_now) noexcept {
    const std::uint64_t room = outside_now - std::min(outside_now, outside);
    const std::uint64_t part = std::min(ticks - std::min(ticks, settled), room);
    outside = std::max(outside, outside_now);
    settled += part;
    return part;
  }
  // The part of it that counts.
  [[nodiscard]] double share() const noexcept {
    return ticks == 0 ? 0 : static_cast<double>(settled) / static_cast<double>(ticks);
  }
};

// How long a call usually takes. Most are shorter than four fifths of all, so that the first calls and rare
// interruptions hardly change it.
struct UsualDuration {
  std::uint64_t ticks = 0;

  // What the other calls took that a sample represents: an outlier counts only for itself.
  std::uint64_t of_others(std::uint64_t duration, unsigned others) noexcept {
    if (ticks == 0) ticks = duration;
    const std::uint64_t limited = std::min(duration, ticks * 64);
    if (limited < ticks)
      ticks -= (ticks - limited) / 4;
    else
      ticks += (limited - ticks + 15) / 16;
    return limited * others;
  }
};

} // namespace haloscope::watch
