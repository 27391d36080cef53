#include "watch/trace/draining.hpp"

#include "watch/records/own.hpp"
#include "watch/records/records.hpp"
#include "watch/trace/request_numbers.hpp"
#include "watch/trace/spool.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <map>
#include <memory>
#include <pthread.h>

namespace haloscope::watch::trace {

HandleTable<std::uint64_t> request_numbers, message_numbers;

namespace {

constexpr std::size_t piece_times = std::size_t{1} << 14U;          // a piece has so many or a few more
constexpr long shortest_sleep = 500'000, longest_sleep = 5'000'000; // nanoseconds

// The blocks of one ring, in order.
class Drain {
public:
  Drain(const Arena &arena, ProcessRecord &process, TraceRing &ring)
      : process_(process), ring_(ring),
        encoder_(arena, ring.thread, process.first.tick, process.trace.compact),
        written_(encoder_.progress()) {}

  // Takes all full blocks. With `all`, it also takes the block that is being written, and writes everything.
  // Returns whether there was a block.
  bool pass(SpoolWriter &spool, bool all) {
    bool any = false;
    for (TraceBlock *block = next_block(all); block != nullptr; block = next_block(all)) {
      encoder_.take(*block);
      held_.push_back(block);
      any = true;
      if (encoder_.piece().gaps.size() >= piece_times || held_.size() >= (ring_.count + 1) / 2) write(spool);
    }
    if (all && ring_.lost > 0) encoder_.take_lost(ring_.lost, ring_.lost_starts);
    if (all && !encoder_.piece().sequence.empty()) write(spool);
    return any;
  }

private:
  TraceBlock *next_block(bool all) noexcept {
    const std::uint64_t wanted = encoder_.progress().block + 1;
    for (std::uint32_t i = 0; i < ring_.count; i++) {
      TraceBlock &block = ring_.blocks[i];
      const std::uint32_t state = block.state.load(std::memory_order_acquire);
      if ((state == TraceBlock::full || (all && state == TraceBlock::writing)) && block.sequence == wanted)
        return &block;
    }
    return nullptr;
  }

  // Blocks become free only after their events are in the file. If the process is killed before, they are
  // still in the arena.
  void write(SpoolWriter &spool) {
    if (spool.add(pack(encoder_.piece(), ring_.thread, encoder_.progress()))) {
      written_ = encoder_.progress();
      ring_.spooled += encoder_.events();
      encoder_.next_piece();
    } else {
      process_.trace.lost.fetch_add(encoder_.take_back(written_), std::memory_order_relaxed);
    }
    free_blocks();
  }
  void free_blocks() noexcept {
    for (TraceBlock *block : held_) {
      if (block == ring_.current) ring_.forget_block();
      block->state.store(TraceBlock::free, std::memory_order_release);
    }
    held_.clear();
  }

  ProcessRecord &process_;
  TraceRing &ring_;
  Encoder encoder_;
  Progress written_;
  std::vector<TraceBlock *> held_;
};

class Draining {
public:
  Draining(const Arena &arena, ProcessRecord &process)
      : arena_(arena), process_(process), spool_(process.trace.spool.data()) {}

  void start() noexcept {
    stop_.store(false);
    // All signals are the program's: also that of a file that may not grow.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    runs_ = pthread_create(&thread_, nullptr, &Draining::run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void stop() noexcept {
    stop_.store(true, std::memory_order_release);
    if (runs_) pthread_join(thread_, nullptr);
    runs_ = false;
  }

private:
  static void *run(void *self) noexcept {
    auto &draining = *static_cast<Draining *>(self);
    try {
      draining.run();
    } catch (const std::exception &) { // NOLINT(bugprone-empty-catch)
      // No memory: what comes now is lost, and the rings count it.
    }
    return nullptr;
  }
  // Ranks are often bound to a core of their own, which is not for this.
  static void run_anywhere() noexcept {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &all);
    pthread_setaffinity_np(pthread_self(), sizeof all, &all); // what the system allows of them
  }
  void run() {
    run_anywhere();
    long sleep = shortest_sleep;
    while (!stop_.load(std::memory_order_acquire)) {
      sleep = pass(false) ? shortest_sleep : std::min(2 * sleep, longest_sleep);
      const timespec pause{0, sleep};
      nanosleep(&pause, nullptr);
    }
    pass(true);
  }
  bool pass(bool all) {
    bool any = false;
    for (TraceRing *ring = process_.trace.rings.load(std::memory_order_acquire); ring != nullptr;
         ring = ring->following) {
      std::unique_ptr<Drain> &drain = drains_[ring];
      if (drain == nullptr) drain = std::make_unique<Drain>(arena_, process_, *ring);
      any = drain->pass(spool_, all) || any;
    }
    return any;
  }

  const Arena &arena_;
  ProcessRecord &process_;
  SpoolWriter spool_;
  std::map<TraceRing *, std::unique_ptr<Drain>> drains_;
  std::atomic<bool> stop_{false};
  bool runs_ = false;
  pthread_t thread_{};
};

struct DrainThread {
  std::unique_ptr<Draining> draining;
};

} // namespace

namespace {

// Blocks for one more ring. Each gets a part of what is left, so that many threads get some.
std::size_t take_blocks(TraceRecord &record) noexcept {
  constexpr std::size_t part = 4, least = 2;
  std::uint64_t room = record.ring_room.load(std::memory_order_relaxed);
  std::size_t blocks = 0;
  do {
    blocks = std::max(std::min<std::size_t>(record.ring_bytes, room / part) / sizeof(TraceBlock), least);
    if (room < blocks * sizeof(TraceBlock)) return 0;
  } while (!record.ring_room.compare_exchange_weak(room, room - blocks * sizeof(TraceBlock)));
  return blocks;
}

} // namespace

TraceRing *make_ring(TraceRecord &record, Arena &arena, std::size_t spare) noexcept {
  auto *ring = arena.make<TraceRing>();
  if (ring == nullptr) return nullptr;
  const std::size_t blocks = take_blocks(record);
  const std::size_t bytes = blocks * sizeof(TraceBlock);
  if (blocks > 0 && arena.has_room(bytes + spare)) {
    ring->blocks = static_cast<TraceBlock *>(arena.allocate(bytes)); // zeroed: all are free
    ring->count = ring->blocks == nullptr ? 0 : static_cast<std::uint32_t>(blocks);
  }
  ring->thread = record.threads.fetch_add(1, std::memory_order_relaxed);
  ring->following = record.rings.load(std::memory_order_relaxed);
  while (!record.rings.compare_exchange_weak(ring->following, ring, std::memory_order_release)) {
  }
  return ring;
}

void start_draining(const Arena &arena, ProcessRecord &process) {
  auto &draining = own<DrainThread>().draining;
  if (draining == nullptr) draining = std::make_unique<Draining>(arena, process);
  draining->start();
}

void stop_draining() noexcept {
  if (const auto &draining = own<DrainThread>().draining; draining != nullptr) draining->stop();
}

} // namespace haloscope::watch::trace
