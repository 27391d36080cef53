// A bit for each rank of a node: who is free to help, or who has finished a part. Of up to 4096 ranks.
#pragma once

#include "hide/halo/memory.hpp"

#include <bit>
#include <cstdint>

namespace haloscope::stencil {

template <class Memory = Machine, std::size_t words = 64> class HelperMask {
public:
  static constexpr std::size_t ranks = words * 64;

  // Whoever sees the bit sees all that its rank did before.
  void set(std::size_t rank) noexcept { words_[rank / 64].fetch_or(bit(rank), std::memory_order_release); }
  void clear(std::size_t rank) noexcept {
    words_[rank / 64].fetch_and(~bit(rank), std::memory_order_relaxed);
  }
  [[nodiscard]] bool has(std::size_t rank) const noexcept {
    return (words_[rank / 64].load(std::memory_order_acquire) & bit(rank)) != 0;
  }
  // Of the first so many ranks.
  [[nodiscard]] bool any(std::size_t of = ranks) const noexcept {
    for (std::size_t i = 0; i < (of + 63) / 64; i++)
      if (words_[i].load(std::memory_order_acquire) != 0) return true;
    return false;
  }
  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t bits = 0;
    for (std::size_t i = 0; i < words; i++)
      bits += static_cast<std::size_t>(std::popcount(words_[i].load(std::memory_order_acquire)));
    return bits;
  }

private:
  static constexpr std::uint64_t bit(std::size_t rank) noexcept { return std::uint64_t{1} << rank % 64; }

  alignas(line) Memory::template Contended<std::uint64_t> words_[words]{};
};

} // namespace haloscope::stencil
