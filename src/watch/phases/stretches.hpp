// Hashes of all stretches of a sequence, each in one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace haloscope::watch {

// A sequence as a number: `sum * stretch_factor + stretch_weight(next)`.
inline constexpr std::uint64_t stretch_factor = 0x9E37'79B9'7F4A'7C15U;
constexpr std::uint64_t stretch_weight(std::uint64_t symbol) noexcept {
  const std::uint64_t x = (symbol + 1) * 0xD6E8'FEB8'6659'FD93U;
  return x ^ x >> 32U;
}

class Stretches {
public:
  // `of(i)`: the symbol at place i.
  template <class Of> Stretches(std::size_t count, Of &&of) : sums_(count + 1), powers_(count + 1) {
    powers_[0] = 1;
    for (std::size_t i = 0; i < count; i++) {
      sums_[i + 1] = sums_[i] * stretch_factor + stretch_weight(of(i));
      powers_[i + 1] = powers_[i] * stretch_factor;
    }
  }
  // The hash of [begin, end).
  std::uint64_t operator()(std::size_t begin, std::size_t end) const noexcept {
    return sums_[end] - sums_[begin] * powers_[end - begin];
  }
  std::size_t size() const noexcept { return sums_.size() - 1; }

private:
  std::vector<std::uint64_t> sums_, powers_;
};

} // namespace haloscope::watch
