// The threads of one running OpenMP parallel region. Each thread adds its sums when it arrives at the end,
// and the thread that began the region adds them to its record. So records still have one writer.
//
// Teams are a fixed pool: nothing is allocated. Threads share eight cache lines, as each adds only once.
#pragma once

#include "watch/records/records.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch {

// Of a region that has ended, with the regions in it. Times are ticks.
struct TeamSums {
  std::uint64_t threads = 0;   // of the region itself
  std::uint64_t regions = 1;   // with those in it
  std::uint64_t available = 0; // the region's time on each thread; of regions in it, that of further threads
  std::uint64_t computing = 0; // of all threads, outside of barriers and MPI
  std::uint64_t calling = 0;   // of all threads, in MPI
  std::uint64_t waiting = 0;   // of all threads, in barriers
  std::uint64_t imbalance = 0; // that threads are busy less long than the busiest one
};

class Team {
public:
  struct Arrival {
    std::uint64_t now, begin; // of the thread's part
    std::uint64_t waited, calling, computing;
    [[nodiscard]] std::uint64_t busy() const noexcept { return now - begin - waited; }
  };

  // Returns null if all are in use.
  static Team *take() noexcept;
  void give_back() noexcept {
    generation_.fetch_add(1, std::memory_order_relaxed);
    is_taken_.store(false, std::memory_order_release);
  }
  // Changes when the region ends.
  [[nodiscard]] std::uint32_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }

  // `around`: the team in which a nested region begins, else null.
  void begin(Node *node, Team *around, unsigned index, std::uint64_t now) noexcept {
    node_ = node;
    around_ = around;
    place_in_around_ = index;
    begin_ = now;
    outermost_ = around == nullptr ? this : around->outermost_;
    threads_ = 0;
    most_.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t begun() const noexcept { return begin_; }
  [[nodiscard]] Node *node() const noexcept { return node_; }
  [[nodiscard]] Team *around() const noexcept { return around_; }
  // The largest number of threads at once, with those of regions in it.
  [[nodiscard]] std::uint64_t most_threads() const noexcept { return most_.load(std::memory_order_relaxed); }

  // The thread that began the region has got its team.
  void set_threads(std::uint64_t threads) noexcept;
  // A thread is done with its part. Afterwards, it only waits, or executes tasks.
  void arrive(unsigned index, const Arrival &arrival) noexcept;
  // A thread that has arrived has worked again, as it executed tasks. `busy`: of the thread, with this time.
  void add_late_work(unsigned index, std::uint64_t duration, std::uint64_t computing, std::uint64_t calling,
                     std::uint64_t busy) noexcept;
  // Returns the sums, and forgets them.
  TeamSums end(std::uint64_t now) noexcept;

private:
  using Sum = std::atomic<std::uint64_t>;
  struct alignas(64) Lane {
    Sum threads, computing, busy, busiest, calling;
    // In barriers, less the time from the region's begin to the arrival: it may be negative.
    Sum waiting;
  };
  static void add(Sum &to, std::uint64_t value) noexcept {
    if (value != 0) to.fetch_add(value, std::memory_order_relaxed);
  }
  static void widen(Sum &to, std::uint64_t value) noexcept {
    std::uint64_t known = to.load(std::memory_order_relaxed);
    while (known < value && !to.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
    }
  }
  static std::uint64_t take_out(Sum &of) noexcept {
    const std::uint64_t value = of.load(std::memory_order_relaxed);
    if (value != 0) of.store(0, std::memory_order_relaxed);
    return value;
  }
  Lane &lane(unsigned index) noexcept { return lanes_[index % lanes_.size()]; }

  std::atomic<bool> is_taken_{false};
  std::atomic<std::uint32_t> generation_{0};
  Node *node_ = nullptr;
  Team *around_ = nullptr, *outermost_ = nullptr;
  unsigned place_in_around_ = 0;
  std::uint64_t begin_ = 0, threads_ = 0;
  Sum active_{0}, most_{0}; // of the outermost
  Sum nested_regions_{0}, nested_available_{0}, nested_imbalance_{0};
  std::array<Lane, 8> lanes_{};
};

} // namespace haloscope::watch
