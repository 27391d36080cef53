// What a thread writes down of each call, region and message where a trace is wanted: units of 16 bytes in
// blocks of the arena, which a background thread takes from there.
//
// One thread writes, one reads; neither waits for the other. A block belongs to the one that its state names.
// Full ones are read in the order of their sequence. The writer takes the first free one, so that few are in
// use and stay in the cache. Where none is free, what happens is lost and counted.
#pragma once

#include "watch/records/arena.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch::trace {

// What an event is. A part belongs to the call that comes after it, and tells more of it.
enum class Kind : std::uint8_t { none, enter, leave, call, part, lost };

// What became of a message or a collective. Those that are posted or begun have a request, whose number what
// completes it names.
enum class Action : std::uint8_t {
  none,
  sent,                 // by a call that is over with it
  begun_send,           //
  received,             // likewise
  posted,               // a receive: the partner and the tag that it asks for
  collective,           // over with the call
  begun_collective,     //
  completed_send,       //
  completed_receive,    // the partner and the tag that came
  completed_collective, //
  cancelled,            // no such message was
  completed_as_posted,  // a receive, by what had been asked for
};
constexpr bool begins_request(Action action) noexcept {
  return action == Action::begun_send || action == Action::posted || action == Action::begun_collective;
}

// What stands in a block: units of 16 bytes, of which most of what happens takes two. The first one says how
// many there are, and is the whole where there is no more to tell.
enum class Entry : std::uint8_t {
  none,
  enter,      // a region; `about` is its node
  leave,      //
  place,      // the node of the calls that follow, until another one is named
  call,       // with Details
  long_call,  // with Details, whose two numbers are one of 64 bits, and a Rest
  part,       // likewise without a Rest; `when` is the number of its request
  short_part, // of which there is nothing in Details
};
struct Unit {
  std::uint64_t when; // tick of the begin
  Entry entry;
  Action action;
  std::uint16_t function; // of a call, and of a part that begins a collective
  std::uint32_t about;    // number of the communicator, or place of the node in the arena
};
struct Details {
  std::int32_t partner; // as the communicator calls it; of a collective the root
  std::int32_t tag;
  std::uint32_t size;     // bytes of the message or the collective; of a call without an action, its own
  std::uint32_t duration; // ticks, of a call; of others the upper half of the size
};
struct Rest {
  std::uint64_t end;
  std::uint64_t bytes; // as the call counts
};
static_assert(sizeof(Unit) == 16 && sizeof(Details) == 16 && sizeof(Rest) == 16);
inline constexpr std::size_t node_alignment = 64;

constexpr std::uint32_t units_of(Entry entry) noexcept {
  return entry == Entry::call || entry == Entry::part ? 2 : entry == Entry::long_call ? 3 : 1;
}
// The bytes that a call with such a message has, if they are not told apart.
constexpr std::uint64_t usual_bytes(Action action, std::uint64_t size) noexcept {
  return action == Action::posted ? 0 : size;
}

struct Block {
  enum State : std::uint32_t { free, writing, full };
  static constexpr std::uint32_t capacity = 4092;
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> used; // units of what is whole
  std::uint64_t sequence;          // from 1 on
  std::uint64_t lost, lost_starts; // events and begun requests before the first unit
  std::array<std::uint64_t, 4> unused;
  std::array<Unit, capacity> units;
};
static_assert(sizeof(Block) == 65536);

// Of one thread, in the arena.
struct Ring {
  Block *blocks;
  std::uint32_t count;
  std::uint32_t thread; // in the order in which they came
  Block *current;
  Unit *next, *end;                // in the current block
  const void *place;               // the node that it named last
  std::uint64_t starts;            // requests that were begun, each of which has this number
  std::uint64_t sequence;          // of the newest block
  std::uint64_t lost, lost_starts; // since the newest block was full
  std::uint64_t all_lost;
  std::uint64_t spooled; // events that are in the spool; by who writes that
  Ring *following;

  // Room for so many units; nullptr if there is none. A new block has named no node.
  [[gnu::always_inline]] Unit *room(std::uint32_t units) noexcept {
    return __builtin_expect(end - next < static_cast<std::ptrdiff_t>(units), 0) ? next_room() : next;
  }
  // They are whole.
  [[gnu::always_inline]] void wrote(std::uint32_t units) noexcept {
    next += units;
    std::atomic_signal_fence(std::memory_order_release);
    current->used.store(static_cast<std::uint32_t>(next - current->units.data()), std::memory_order_relaxed);
  }
  void lose(bool starts_request) noexcept {
    lost++;
    all_lost++;
    lost_starts += starts_request ? 1 : 0;
  }
  // The block is another one's.
  void forget_block() noexcept {
    current = nullptr;
    next = end = nullptr;
    place = nullptr;
  }

private:
  // After a search in vain, so many events are lost before the next one: they are to cost little.
  static constexpr std::uint32_t pause = 256;
  [[gnu::noinline]] Unit *next_room() noexcept {
    if (current != nullptr) current->state.store(Block::full, std::memory_order_release);
    forget_block();
    if (lost % pause != 0) return nullptr;
    // From the first on, so that as few as possible are in use.
    for (std::uint32_t i = 0; i < count; i++) {
      Block &block = blocks[i];
      if (block.state.load(std::memory_order_acquire) != Block::free) continue;
      block.used.store(0, std::memory_order_relaxed);
      block.sequence = ++sequence;
      block.lost = lost;
      block.lost_starts = lost_starts;
      lost = lost_starts = 0;
      block.state.store(Block::writing, std::memory_order_release);
      current = &block;
      next = block.units.data();
      end = next + Block::capacity;
      return next;
    }
    return nullptr;
  }
};

// In the process's record. Rings are those that threads have put there.
struct TraceRecord {
  std::atomic<Ring *> rings;
  std::atomic<std::uint32_t> threads;
  std::atomic<std::uint64_t> lost; // events that the spool had no room for
  bool wanted, compact;
  std::uint64_t ring_bytes;        // of each thread
  std::uint64_t machine;           // hash of its identity: clocks of one machine need no alignment
  double offset_begin, offset_end; // seconds to be added to its clock to have that of rank 0's machine
  std::array<char, 1024> spool;    // its path
};

} // namespace haloscope::watch::trace
