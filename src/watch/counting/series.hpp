// One instance of a region in 64 bits (docs/format.md, table `instances`): two lengths in ticks with 24 bits
// each, and the waiting part of the duration with 16 bits.
//
// A length is a float that is exact below 2^20 and rounded down above. So a decoded time is never later than
// the measured one, and the gap to the next instance is never negative. The gap is measured from the decoded
// end of the previous instance. So errors do not add up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace haloscope::watch {

inline constexpr unsigned length_bits = 24, mantissa_bits = 19, wait_bits = 16;
inline constexpr std::uint64_t longest_length = (1ULL << length_bits) - 1;
inline constexpr std::uint64_t whole_wait = (1ULL << wait_bits) - 1;

// Five days at 2.5 GHz and more are the largest that there is.
constexpr std::uint64_t pack_length(std::uint64_t ticks) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(ticks));
  if (bits <= mantissa_bits + 1) return ticks;
  const unsigned shift = bits - mantissa_bits - 1;
  return std::min((std::uint64_t{shift} << mantissa_bits) + (ticks >> shift), longest_length);
}

constexpr std::uint64_t unpack_length(std::uint64_t packed) noexcept {
  const std::uint64_t exponent = packed >> mantissa_bits;
  if (exponent == 0) return packed;
  return (packed - ((exponent - 1) << mantissa_bits)) << (exponent - 1);
}

// `end` is the decoded end of the instance before, and becomes that of this one.
constexpr std::uint64_t pack_instance(std::uint64_t &end, std::uint64_t begin, std::uint64_t duration,
                                      std::uint64_t wait) noexcept {
  const std::uint64_t gap = pack_length(begin > end ? begin - end : 0);
  const std::uint64_t length = pack_length(duration);
  end += unpack_length(gap) + unpack_length(length);
  // Times are sampled: more waiting than there was time is the whole time.
  const double share = duration == 0 ? 0 : static_cast<double>(wait) / static_cast<double>(duration);
  const std::uint64_t waited = (static_cast<std::uint64_t>(std::min(share, 1.0) * 2 * whole_wait) + 1) / 2;
  return length | gap << length_bits | waited << (2 * length_bits);
}

static_assert(pack_length((1U << 20U) - 1) == (1U << 20U) - 1 && unpack_length(1U << 20U) == 1U << 20U);
static_assert(pack_length(~0ULL) == longest_length && pack_length((1ULL << 50U) - 1) == longest_length);

} // namespace haloscope::watch
