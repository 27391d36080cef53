// A buffer that its owner fills and a neighbour reads in place, exchange after exchange, in two copies by
// turns. Exchanges count from 1; exchange e uses copy e mod 2, so its owner needs the release of e − 2.
#pragma once

#include "hide/halo/memory.hpp"

#include <cstdint>

namespace haloscope::stencil {

inline constexpr std::uint64_t copies = 2;

template <class Memory = Machine> class Handover {
public:
  // The owner's.
  [[nodiscard]] bool may_write(std::uint64_t exchange) const noexcept {
    return released_.load(std::memory_order_acquire) + copies >= exchange;
  }
  void publish(std::uint64_t exchange) noexcept { ready_.store(exchange, std::memory_order_release); }

  // The reader's.
  [[nodiscard]] bool may_read(std::uint64_t exchange) const noexcept {
    return ready_.load(std::memory_order_acquire) >= exchange;
  }
  void release(std::uint64_t exchange) noexcept { released_.store(exchange, std::memory_order_release); }

private:
  alignas(line) Memory::template Atomic<std::uint64_t> ready_{};    // the last one that was filled
  alignas(line) Memory::template Atomic<std::uint64_t> released_{}; // the last one that was read
};

} // namespace haloscope::stencil
