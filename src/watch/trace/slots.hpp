// What a thread writes down of each call, region and message where a trace is wanted: slots of 32 bytes in
// blocks of the arena, which a background thread takes from there.
//
// One thread writes, one reads; neither waits for the other. A block belongs to the one that its state names.
// Full ones are read in the order of their sequence. The writer takes the first free one, so that few are in
// use and stay in the cache. Where none is free, what happens is lost and counted.
#pragma once

#include "watch/arena.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch::trace {

// What a slot is. A part belongs to the call that comes after it, and tells more of it.
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
};
constexpr bool begins_request(Action action) noexcept {
  return action == Action::begun_send || action == Action::posted || action == Action::begun_collective;
}

// Of a region: only the tick and the node. Of a part: all but `words`, with `when` the number of its request.
// A call is two slots.
struct Slot {
  std::uint64_t when;         // tick of the begin
  std::uint64_t size;         // bytes of the message or the collective; of a region none
  std::uint16_t function;     // of a call, and of a part that begins a collective
  Kind kind;                  //
  Action action;              //
  std::uint32_t communicator; // its number
  std::int32_t partner;       // as the communicator calls it; of a collective the root
  std::int32_t tag;           //
};
struct CallRest {
  std::uint64_t end;
  std::uint64_t bytes;  // as the call counts
  std::uint64_t number; // of the request that it begins
  std::uint32_t node;   // place in the arena
  std::uint32_t unused;
};
static_assert(sizeof(Slot) == 32 && sizeof(CallRest) == 32);
inline constexpr std::size_t node_alignment = 64;

struct Block {
  enum State : std::uint32_t { free, writing, full };
  static constexpr std::uint32_t capacity = 2046;
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> used; // slots that are whole
  std::uint64_t sequence;          // from 1 on
  std::uint64_t lost, lost_starts; // events and begun requests before the first slot
  std::array<std::uint64_t, 4> unused;
  std::array<Slot, capacity> slots;
};
static_assert(sizeof(Block) == 65536);

// Of one thread, in the arena.
struct Ring {
  Block *blocks;
  std::uint32_t count;
  std::uint32_t thread; // in the order in which they came
  Block *current;
  std::uint64_t sequence;          // of the newest block
  std::uint64_t starts;            // requests that were begun, each of which has this number
  std::uint64_t lost, lost_starts; // since the newest block was full
  std::uint64_t all_lost;
  Ring *next;

  // Room for so many slots; nullptr if there is none.
  [[gnu::always_inline]] Slot *room(std::uint32_t slots) noexcept {
    Block *block = current;
    if (__builtin_expect(
            block == nullptr || block->used.load(std::memory_order_relaxed) + slots > Block::capacity, 0))
      return next_room();
    return &block->slots[block->used.load(std::memory_order_relaxed)];
  }
  // They are whole.
  [[gnu::always_inline]] void wrote(std::uint32_t slots) const noexcept {
    std::atomic_signal_fence(std::memory_order_release);
    current->used.store(current->used.load(std::memory_order_relaxed) + slots, std::memory_order_relaxed);
  }
  void lose(bool starts_request) noexcept {
    lost++;
    all_lost++;
    lost_starts += starts_request ? 1 : 0;
  }

private:
  // After a search in vain, so many events are lost before the next one: they are to cost little.
  static constexpr std::uint32_t pause = 256;
  [[gnu::noinline]] Slot *next_room() noexcept {
    if (current != nullptr) current->state.store(Block::full, std::memory_order_release);
    current = nullptr;
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
      return block.slots.data();
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
