// The time of calls that were not stamped, estimated from samples of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace haloscope::watch {

// The two sums that have estimates: `poll` is of polls that find nothing, `p2p` of all other calls.
enum class Estimated : unsigned { p2p, poll };
using EstimatedTicks = std::array<std::uint64_t, 2>;

// Of one region. A sample adds what the calls took that it represents. That counts only when it is settled:
// at the end of a slice of time and at the collection, as far as the region had time outside of stamped
// calls. What there was no time for waits for the next slice.
struct Estimate {
  EstimatedTicks ticks, settled;
  std::uint64_t outside; // the region's ticks outside of stamped calls, when it was last settled
  // The longest gaps between polls that are polling; when it was last settled.
  std::uint64_t gaps, gaps_before;

  // Returns what is settled in addition.
  EstimatedTicks settle(std::uint64_t outside_now) noexcept {
    const std::uint64_t room = outside_now - std::min(outside_now, outside);
    outside = std::max(outside, outside_now);
    // A thread that only polls waits, also while it has no core.
    const std::uint64_t most = gaps - std::min(gaps, gaps_before), known = left(0) + left(1);
    gaps_before = gaps;
    if (room > known && room - known <= most) ticks[1] += room - known;
    const std::uint64_t first = left(0), second = left(1), part = std::min(first + second, room);
    if (part == 0) return {};
    const double share = static_cast<double>(first) / static_cast<double>(first + second);
    const std::uint64_t of_first = std::clamp(static_cast<std::uint64_t>(static_cast<double>(part) * share),
                                              part - std::min(part, second), std::min(part, first));
    const EstimatedTicks more{of_first, part - of_first};
    for (unsigned i = 0; i < more.size(); i++) settled[i] += more[i];
    return more;
  }
  // What has not counted yet.
  [[nodiscard]] std::uint64_t left(unsigned of) const noexcept {
    return ticks[of] - std::min(ticks[of], settled[of]);
  }
  // The part that counts.
  [[nodiscard]] double share(unsigned of) const noexcept {
    return ticks[of] == 0 ? 0 : static_cast<double>(settled[of]) / static_cast<double>(ticks[of]);
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
