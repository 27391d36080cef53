// The events of a thread's trace (calls, regions, messages): units of 16 bytes in blocks of the arena. A
// background thread reads them.
//
// One thread writes and one reads. Neither waits for the other. The state of a block names its owner. Full
// blocks are read in the order of their sequence. The writer takes the first free block, so that few are in
// use and stay in the cache. If no block is free, events are lost and counted.
#pragma once

#include "watch/records/arena.hpp"
#include "watch/records/flag.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch {

// The type of an event. A part adds information to the next call.
enum class EventType : std::uint8_t { none, enter, leave, call, part, lost };

// The effect of an event on a message or a collective. Posted and begun ones have a request. The completion
// has the request's number.
enum class MessageAction : std::uint8_t {
  none,
  sent,                 // by a call that is over with it
  begun_send,           //
  received,             // by a call that has ended
  posted,               // a receive: the partner and the tag that it asks for
  collective,           // over with the call
  begun_collective,     //
  completed_send,       //
  completed_receive,    // the partner and the tag that came
  completed_collective, //
  cancelled,            // no such message was
  completed_as_posted,  // a receive, by what had been asked for
};
constexpr bool begins_request(MessageAction action) noexcept {
  return action == MessageAction::begun_send || action == MessageAction::posted ||
         action == MessageAction::begun_collective;
}

// Events in a block. Most take two units of 16 bytes. The type in the first unit gives the number of units.
enum class UnitType : std::uint8_t {
  none,
  enter,      // a region; `about` is its node
  leave,      //
  place,      // the node of the calls that follow, until another one is named
  call,       // with UnitDetails
  long_call,  // with UnitDetails, whose two numbers are one of 64 bits, and a LongCallRest
  part,       // by a call that has ended without a LongCallRest; `when` is the number of its request
  short_part, // of which there is nothing in UnitDetails
};
struct TraceUnit {
  std::uint64_t when; // tick of the begin
  UnitType entry;
  MessageAction action;
  std::uint16_t function; // of a call, and of a part that begins a collective
  std::uint32_t about;    // number of the communicator, or place of the node in the arena
};
struct UnitDetails {
  std::int32_t partner; // as the communicator calls it; of a collective the root
  std::int32_t tag;
  std::uint32_t size;     // bytes of the message or the collective; of a call without an action, its own
  std::uint32_t duration; // ticks, of a call; of others the upper half of the size
};
struct LongCallRest {
  std::uint64_t end;
  std::uint64_t bytes; // as the call counts
};
static_assert(sizeof(TraceUnit) == 16 && sizeof(UnitDetails) == 16 && sizeof(LongCallRest) == 16);
inline constexpr std::size_t node_alignment = 64;

constexpr std::uint32_t units_of(UnitType entry) noexcept {
  return entry == UnitType::call || entry == UnitType::part ? 2 : entry == UnitType::long_call ? 3 : 1;
}
// The bytes of a call with such a message, unless they are stored separately.
constexpr std::uint64_t usual_bytes(MessageAction action, std::uint64_t size) noexcept {
  return action == MessageAction::posted ? 0 : size;
}

struct TraceBlock {
  enum State : std::uint32_t { free, writing, full };
  static constexpr std::uint32_t capacity = 4092;
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> used; // units of what is whole
  std::uint64_t sequence;          // from 1 on
  std::uint64_t lost, lost_starts; // events and begun requests before the first unit
  std::array<std::uint64_t, 4> unused;
  std::array<TraceUnit, capacity> units;
};
static_assert(sizeof(TraceBlock) == 65536);

// Of one thread, in the arena. A ring without blocks loses all events, and counts them.
struct TraceRing {
  TraceBlock *blocks;
  std::uint32_t count;
  std::uint32_t thread; // in the order in which they came
  TraceBlock *current;
  TraceUnit *next, *end;           // in the current block
  const void *place;               // the node that it named last
  std::uint64_t starts;            // requests that were begun, each of which has this number
  std::uint64_t sequence;          // of the newest block
  std::uint64_t lost, lost_starts; // since the newest block was full
  std::uint64_t all_lost;
  std::uint64_t spooled; // events that are in the spool; by who writes that
  TraceRing *following;

  // Space for `units`; nullptr if there is none. In a new block, no event has named its node yet.
  [[gnu::always_inline]] TraceUnit *room(std::uint32_t units) noexcept {
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
  // The reader owns the block now.
  void forget_block() noexcept {
    current = nullptr;
    next = end = nullptr;
    place = nullptr;
  }

private:
  // If a search finds no free block, the next `pause` events are lost without a search, so that they cost
  // little.
  static constexpr std::uint32_t pause = 256;
  [[gnu::noinline]] TraceUnit *next_room() noexcept {
    if (current != nullptr) current->state.store(TraceBlock::full, std::memory_order_release);
    forget_block();
    if (lost % pause != 0) return nullptr;
    // From the first on, so that as few as possible are in use.
    for (std::uint32_t i = 0; i < count; i++) {
      TraceBlock &block = blocks[i];
      if (block.state.load(std::memory_order_acquire) != TraceBlock::free) continue;
      block.used.store(0, std::memory_order_relaxed);
      block.sequence = ++sequence;
      block.lost = lost;
      block.lost_starts = lost_starts;
      lost = lost_starts = 0;
      block.state.store(TraceBlock::writing, std::memory_order_release);
      current = &block;
      next = block.units.data();
      end = next + TraceBlock::capacity;
      return next;
    }
    return nullptr;
  }
};

// In the process's record. Rings are those that threads have put there.
struct TraceRecord {
  std::atomic<TraceRing *> rings;
  std::atomic<std::uint32_t> threads;
  std::atomic<std::uint64_t> lost; // events that the spool had no room for
  Flag wanted, compact;
  std::uint64_t ring_bytes;             // of each thread, at most
  std::atomic<std::uint64_t> ring_room; // bytes that are left for the rings of further threads
  std::uint64_t machine;                // hash of its identity: clocks of one machine need no alignment
  double offset_begin, offset_end;      // seconds to be added to its clock to have that of rank 0's machine
  std::array<char, 1024> spool;         // its path
};

} // namespace haloscope::watch
