// Instances of regions, from the bytes in which docs/format.md packs them to seconds.
#include "explain/public.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__x86_64__)
#define HALOSCOPE_CLONES [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define HALOSCOPE_CLONES
#endif

namespace haloscope::explain {
namespace {

constexpr unsigned mantissa_bits = 19, double_bias = 1023, double_mantissa_bits = 52;
constexpr double whole_wait = 65535;

// Bytes of packed instances, shuffled: the lowest byte of each, then the second of each, …
struct Planes {
  const std::uint8_t *bytes;
  std::size_t rows;
  [[nodiscard]] const std::uint8_t *plane(std::size_t i) const noexcept { return bytes + i * rows; }
};

// One of the two 24-bit floats of each instance: 19 bits of mantissa, 5 of exponent.
class Lengths {
public:
  Lengths(const Planes &packed, std::size_t first, std::size_t begin) noexcept
      : low_(packed.plane(first) + begin), middle_(packed.plane(first + 1) + begin),
        high_(packed.plane(first + 2) + begin) {}

  // A power of two times an integer is exact, and vectorised on every machine.
  [[gnu::always_inline]] double number(std::size_t i) const noexcept {
    const std::uint32_t shift = shift_of(i);
    const auto power = std::bit_cast<double>(std::uint64_t{double_bias + shift} << double_mantissa_bits);
    return static_cast<double>(static_cast<std::int32_t>(kept(i, shift))) * power;
  }
  [[gnu::always_inline]] std::uint64_t ticks(std::size_t i) const noexcept {
    const std::uint32_t shift = shift_of(i);
    return std::uint64_t{kept(i, shift)} << shift;
  }

private:
  [[gnu::always_inline]] std::uint32_t bits(std::size_t i) const noexcept {
    return low_[i] | static_cast<std::uint32_t>(middle_[i]) << 8U |
           static_cast<std::uint32_t>(high_[i]) << 16U;
  }
  [[gnu::always_inline]] std::uint32_t shift_of(std::size_t i) const noexcept {
    const std::uint32_t exponent = bits(i) >> mantissa_bits;
    return exponent - (exponent > 0 ? 1U : 0U);
  }
  [[gnu::always_inline]] std::uint32_t kept(std::size_t i, std::uint32_t shift) const noexcept {
    return bits(i) - (shift << mantissa_bits);
  }

  const std::uint8_t *low_, *middle_, *high_;
};

HALOSCOPE_CLONES
void durations(const Planes &three, std::size_t begin, double tick, std::span<double> into) noexcept {
  const Lengths lengths(three, 0, begin);
  double *out = into.data();
  for (std::size_t i = 0, n = into.size(); i < n; i++) out[i] = lengths.number(i) * tick;
}

HALOSCOPE_CLONES
void waits(const Planes &eight, std::size_t begin, double tick, std::span<double> into) noexcept {
  const Lengths lengths(eight, 0, begin);
  const std::uint8_t *low = eight.plane(6) + begin, *high = eight.plane(7) + begin;
  double *out = into.data();
  for (std::size_t i = 0, n = into.size(); i < n; i++)
    out[i] = lengths.number(i) * ((low[i] | high[i] << 8) / whole_wait) * tick;
}

// When each began, after one that ended at `end`; returns the end of the last one.
std::uint64_t starts(const Planes &six, std::size_t begin, double tick, std::uint64_t end,
                     std::span<double> into) noexcept {
  const Lengths lengths(six, 0, begin), gaps(six, 3, begin);
  for (std::size_t i = 0; i < into.size(); i++) {
    end += gaps.ticks(i);
    into[i] = static_cast<double>(end) * tick;
    end += lengths.ticks(i);
  }
  return end;
}

// Series of one chunk of a profile: instances from `begin` on, and the seconds of a tick.
struct Stretch {
  std::int64_t begin, count;
  double tick;
};

} // namespace

// Puts `count` seconds a stretch `into` an array, one stretch after the other. `planes` of the `rows`
// packed instances: three for durations, six for starts, eight for waits.
HALOSCOPE_PUBLIC void haloscope_unpack(const std::uint8_t *bytes, std::int64_t rows, int planes,
                                       const Stretch *stretches, std::int64_t number, std::uint64_t *end,
                                       double *into) {
  const Planes packed{bytes, static_cast<std::size_t>(rows)};
  for (const Stretch &stretch : std::span(stretches, static_cast<std::size_t>(number))) {
    const auto begin = static_cast<std::size_t>(stretch.begin);
    const std::span<double> out(into, static_cast<std::size_t>(stretch.count));
    if (planes == 3) durations(packed, begin, stretch.tick, out);
    if (planes == 8) waits(packed, begin, stretch.tick, out);
    // The first series goes on where it was left, the others begin at 0. Sums are modulo 2^64: a
    // damaged series has no effect on the next.
    if (planes == 6) *end = starts(packed, begin, stretch.tick, &stretch == stretches ? *end : 0, out);
    into += stretch.count;
  }
}

} // namespace haloscope::explain
