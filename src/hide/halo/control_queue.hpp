// Control messages from one process to another: one producer, one consumer, bounded, in order.
//
// Each side keeps what it last saw of the other's index, and looks again only when that says full, or empty:
// in a stream a message costs one store of an index, and now and then the transfer of a line.
#pragma once

#include "hide/halo/memory.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace haloscope::stencil {

template <class T, std::size_t capacity, class Memory = Machine> class ControlQueue {
  static_assert(std::has_single_bit(capacity) && std::is_trivially_copyable_v<T>);

public:
  // The producer's. False: full.
  bool push(const T &message) noexcept {
    const std::uint64_t next = producer_.next;
    if (next - producer_.seen == capacity) {
      producer_.seen = head_.load(std::memory_order_acquire); // slots before it have been read
      if (next - producer_.seen == capacity) return false;
    }
    slots_[next % capacity] = message;
    producer_.next = next + 1;
    tail_.store(next + 1, std::memory_order_release);
    return true;
  }

  // The consumer's. False: empty.
  bool pop(T &message) noexcept {
    const std::uint64_t next = consumer_.next;
    if (next == consumer_.seen) {
      consumer_.seen = tail_.load(std::memory_order_acquire); // slots before it have been written
      if (next == consumer_.seen) return false;
    }
    message = slots_[next % capacity];
    consumer_.next = next + 1;
    head_.store(next + 1, std::memory_order_release);
    return true;
  }

private:
  struct Side {
    Memory::template Plain<std::uint64_t> next{}, seen{}; // own index; the other's, when last seen
  };

  alignas(line) Side producer_;
  alignas(line) Memory::template Atomic<std::uint64_t> tail_{}; // messages written
  alignas(line) Side consumer_;
  alignas(line) Memory::template Atomic<std::uint64_t> head_{}; // messages read
  alignas(line) Memory::template Plain<T> slots_[capacity]{};
};

} // namespace haloscope::stencil
