// Communication between processes that have mapped the same memory: queues of messages and of tasks, a bit
// per rank, and a buffer that is handed over.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>

namespace haloscope::halo {

// The base of the algorithms on shared memory: the machine, or a test's model of a weaker one. Each algorithm
// is a template over it, starts from zeros, and is in memory that several processes have mapped.
struct Machine {
  template <class T> using Plain = T;
  template <class T> using Atomic = std::atomic<T>;    // has one writer
  template <class T> using Contended = std::atomic<T>; // has several
};

// Data that two sides write lies this far apart: two cache lines, as processors fetch them in pairs.
inline constexpr std::size_t line = 128;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Control messages from one process to another: one producer, one consumer, bounded, in order.
//
// Each side keeps a copy of the other side's index, and loads it again only when the copy means full or
// empty. So a message in a stream costs each side one store of an index, and sometimes the transfer of a
// cache line.
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

// Tasks for any rank that is idle: one producer, any number of consumers. The producer keeps writing and
// never waits. Each consumer has its own cursor, sees every task in order, and notices tasks that were
// overwritten before it read them. The words of a task define which rank may do it, or which part of it.
//
// A slot is a sequence lock. Words are written with release and read with acquire. A consumer that sees a
// word of a later task therefore also sees the changed sequence. So no fences are needed.
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

// A bit per rank of a node: ranks that are free to help, or have finished a part. Up to 4096 ranks.
template <class Memory = Machine, std::size_t words = 64> class HelperMask {
public:
  static constexpr std::size_t ranks = words * 64;

  // A rank that sees the bit also sees everything that the other rank wrote before.
  void set(std::size_t rank) noexcept { words_[rank / 64].fetch_or(bit(rank), std::memory_order_release); }
  void clear(std::size_t rank) noexcept {
    words_[rank / 64].fetch_and(~bit(rank), std::memory_order_relaxed);
  }
  [[nodiscard]] bool has(std::size_t rank) const noexcept {
    return (words_[rank / 64].load(std::memory_order_acquire) & bit(rank)) != 0;
  }
  // The bits of 64 ranks.
  [[nodiscard]] std::uint64_t word(std::size_t i) const noexcept {
    return words_[i].load(std::memory_order_acquire);
  }
  // The number of bits set among the first `of` ranks, without the bit of `except`: a rank that asks how many
  // others are free must not count itself.
  [[nodiscard]] std::size_t count(std::size_t of = ranks, std::size_t except = ranks) const noexcept {
    std::size_t bits = 0;
    for (std::size_t i = 0; i < (of + 63) / 64; i++) {
      std::uint64_t found = words_[i].load(std::memory_order_acquire);
      if (except / 64 == i) found &= ~bit(except);
      bits += static_cast<std::size_t>(std::popcount(found));
    }
    return bits;
  }

private:
  static constexpr std::uint64_t bit(std::size_t rank) noexcept { return std::uint64_t{1} << rank % 64; }

  alignas(line) Memory::template Contended<std::uint64_t> words_[words]{};
};

// A buffer that its owner fills and a neighbour reads in place, alternately in two copies. Exchanges count
// from 1. Exchange e uses copy e mod 2, so its owner needs the release of e − 2.
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

// A bounded part of a rank's region that is handed out piece by piece, by its owner alone, and never taken
// back before the end.
class Pool {
public:
  Pool() = default;
  explicit Pool(std::span<std::byte> space) : space_(space) {}

  // Nothing when the pool has run out.
  std::byte *take(std::size_t bytes) noexcept {
    const std::size_t rounded = (bytes + line - 1) / line * line;
    if (rounded > space_.size() - taken_) return nullptr;
    std::byte *found = space_.data() + taken_;
    taken_ += rounded;
    return found;
  }

  // An object that starts from zeros, which the space holds.
  template <class T> T *make() noexcept {
    std::byte *found = take(sizeof(T));
    return found == nullptr ? nullptr : new (found) T;
  }

private:
  std::span<std::byte> space_;
  std::size_t taken_ = 0;
};

} // namespace haloscope::halo
