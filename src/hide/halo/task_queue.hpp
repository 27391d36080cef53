// Tasks for whoever has time: one producer, any number of consumers. The producer keeps writing and waits for
// nobody; each consumer has a cursor of its own, sees every task in order, and notices what was overwritten
// before it came. Who may do a task, or which part of it, is for the task's own words to say.
//
// A slot is a sequence lock. Words are written with release and read with acquire: whoever sees a word of a
// later task then also sees that the slot's sequence has moved on. That needs no fences.
#pragma once

#include "hide/halo/memory.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace haloscope::stencil {

template <std::size_t words, std::size_t capacity, class Memory = Machine> class TaskQueue {
  static_assert(std::has_single_bit(capacity));

public:
  using Task = std::array<std::uint64_t, words>;
  enum class Found : std::uint8_t { nothing, task, overwritten };

  struct Cursor {
    std::uint64_t next = 0, missed = 0;
  };

  // The producer's.
  void push(const Task &task) noexcept {
    const std::uint64_t number = next_;
    Slot &slot = slots_[number % capacity];
    slot.sequence.store(2 * number + 1, std::memory_order_relaxed); // until it is whole
    for (std::size_t i = 0; i < words; i++) slot.content[i].store(task[i], std::memory_order_release);
    slot.sequence.store(2 * number + 2, std::memory_order_release);
    next_ = number + 1;
  }

  // A consumer's. After `overwritten` the cursor stands on the oldest task that may still be there.
  Found pop(Cursor &cursor, Task &task) const noexcept {
    const Slot &slot = slots_[cursor.next % capacity];
    const std::uint64_t whole = 2 * cursor.next + 2;
    const std::uint64_t before = slot.sequence.load(std::memory_order_acquire);
    if (before < whole) return Found::nothing;
    if (before > whole) return catch_up(cursor, before);
    for (std::size_t i = 0; i < words; i++) task[i] = slot.content[i].load(std::memory_order_acquire);
    const std::uint64_t after = slot.sequence.load(std::memory_order_relaxed);
    if (after != whole) return catch_up(cursor, after);
    cursor.next++;
    return Found::task;
  }

private:
  struct Slot {
    Memory::template Atomic<std::uint64_t> sequence{}; // 2 n + 1: task n is being written; 2 n + 2: is there
    Memory::template Atomic<std::uint64_t> content[words]{};
  };

  static Found catch_up(Cursor &cursor, std::uint64_t sequence) noexcept {
    const std::uint64_t newer = (sequence - 1) / 2, oldest = newer - capacity + 1;
    cursor.missed += oldest - cursor.next;
    cursor.next = oldest;
    return Found::overwritten;
  }

  alignas(line) Memory::template Plain<std::uint64_t> next_{};
  alignas(line) Slot slots_[capacity]{};
};

} // namespace haloscope::stencil
