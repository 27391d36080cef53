// The state of a thread that records. It lies in the arena, so that other processes can read it.
#pragma once

#include "watch/records/doing.hpp"
#include "watch/records/intervals.hpp"
#include "watch/records/records.hpp"
#include "watch/records/requests.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch {

// A remembered post with these arguments in this region, found without looking up each argument. Forgotten
// when a handle is freed or records move.
struct Post {
  std::uintptr_t communicator = 0, datatype = 0; // handles
  std::uint64_t count = 0;
  Node *node = nullptr;
  Request request; // what becomes of it
};
static_assert(sizeof(Post) == 64);

// The record of a recent collective, found without hashing.
struct RecentCollective {
  const Node *node = nullptr;
  const Communicator *communicator = nullptr;
  Function function{};
  Memory memory = Memory::host;
  std::uint64_t bytes = 0;
  CollectiveRecord *record = nullptr;
};

struct SiteBook; // of stacks
struct Phases;

// Of the polls of a thread (MPI_Test, MPI_Iprobe …), one per interval is stamped; the first are all stamped.
// The poll after it is stamped, too: a short time between two polls that find nothing is polling.
struct Polling {
  static constexpr unsigned mean_interval = 96;
  VaryingInterval stamps;
  unsigned exact = 64;              // polls that are still stamped, each for itself
  bool all = false;                 // are stamped
  UsualDuration usual_found, usual; // of polls that find something; that find nothing
  std::uint64_t short_gap = 0;      // ticks; 0: not known yet
  // Of the latest stamped poll, if it found nothing:
  std::uint64_t end = 0; // 0: it found something
  unsigned weight = 0;   // the polls that it represents
  const Node *node = nullptr;
  std::uint64_t newest = 0; // the thread's latest stamp then
  unsigned posts_left = 0;  // until the next post is stamped

  // Whether the poll that begins now is stamped.
  [[gnu::always_inline]] bool is_stamped() const noexcept { return __builtin_expect(stamps.left == 1, 0); }
  // Returns the number of polls that this stamped one represents.
  unsigned next_weight() noexcept {
    const unsigned weight_now = stamps.length;
    if (exact > 0) exact--;
    // The poll after a sample is stamped for itself.
    if (all || exact > 0 || weight_now > 1)
      stamps.length = stamps.left = 1;
    else
      stamps.draw(mean_interval);
    return weight_now;
  }
};

// The state of one thread. Only that thread writes it.
struct Recorder {
  // The call that it is in. What the library calls by itself meanwhile is not counted.
  Doing doing;
  Memory memory = Memory::host; // of what it counts now
  Node *node = nullptr;         // where calls are counted
  Node *position = nullptr;     // where the markers are; the same unless what happens there does not count
  std::uint8_t paused = 0;      // Pause bits
  // Posts of messages from this size on are stamped always.
  std::uint64_t stamped_size = 4096;
  // Of smaller posts, one per interval is stamped. The first posts are all stamped, each for itself: they
  // take unusually long, because everything is new to MPI.
  VaryingInterval stamps;
  unsigned exact_posts = 64;
  UsualDuration usual_post;
  Polling polling;
  std::uint64_t deadline = 0;    // tick of the next thing to do by the clock
  unsigned lost_regions = 0;     // begun when the arena was full
  std::uint64_t millisecond = 0; // in ticks; 0: not known yet
  Arena *arena = nullptr;
  ProcessRecord *process = nullptr;
  ThreadRecord *record = nullptr;
  Node *discard = nullptr;
  // Of OpenMP: the parallel regions in which the thread works now. In these, the MPI time of regions that end
  // is kept, so that `call_ticks` always has the time of the thread's calls.
  unsigned parallel_parts = 0;
  std::uint64_t left_call_ticks = 0;
  std::uint64_t calls_before = 0; // of threads that have recorded here before
  SiteBook *sites = nullptr;      // nullptr: call sites are not recorded
  Phases *phases = nullptr;       // nullptr: no search for iterations
  TraceRing *ring = nullptr;      // nullptr: no trace
  Site *site = nullptr;           // of the call that the thread is in
  std::uintptr_t from = 0;        // the return address of that call
  std::array<Post, 256> posts{};  // requests never mean the first

  std::array<RecentCollective, 32> recent_collectives{};

  [[gnu::noinline, gnu::cold]] void forget_posts() noexcept { posts.fill({}); }

  // A growing count of ticks in MPI calls. Only differences mean anything.
  [[nodiscard]] std::uint64_t call_ticks() const noexcept {
    std::uint64_t sum = left_call_ticks;
    for (const Node *open = position; open != nullptr; open = open->parent) sum += ticks_in_calls(*open);
    return sum;
  }

  // Nothing is lost of what is switched off.
  void dropped() const noexcept {
    if (node != discard) process->dropped.fetch_add(1, std::memory_order_relaxed);
  }

  // Return the tick at which a call that is stamped begins.
  [[gnu::always_inline]] std::uint64_t begin_call() noexcept {
    const std::uint64_t now = ticks();
    if constexpr (keeps_current_call) doing.since = now;
    return now;
  }

  [[gnu::always_inline]] void publish_collective(const Invocation &invoked,
                                                 std::uint32_t communicator) noexcept {
    if constexpr (!keeps_current_call) return;
    doing.partner = invoked.partner;
    doing.communicator = communicator;
    doing.what = Doing::collective;
  }

  static constexpr unsigned mean_interval = 16;

  // Whether the next small post needs no stamp; it is taken for made then.
  [[gnu::always_inline]] bool goes_unstamped() noexcept {
    if (__builtin_expect(stamps.left == 1, 0)) return false;
    stamps.left--;
    return true;
  }
  // The number of posts that this one represents as a sample. 0: do not stamp it.
  unsigned stamp_weight() noexcept {
    if (__builtin_expect(--stamps.left != 0, 1)) return 0;
    const unsigned weight = stamps.length;
    if (exact_posts > 0) {
      exact_posts--;
      stamps.left = 1;
    } else {
      stamps.draw(mean_interval);
    }
    return weight;
  }
};

} // namespace haloscope::watch
