// What a rank lays out for the others of its node: the messages that it wants to send, and the copies with
// which others may help it. It lies in the rank's arena; whoever holds a token or a task knows where to look.
#pragma once

#include "hide/halo/memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace haloscope::stencil::layer {

// A token is a message whose length says in which slot its message is described, so that a probe can tell the
// true size. These lengths are odd, and no multiple of an element that programs send. A sender uses a length
// towards a rank for tokens only if it never sent a message of its program with it.
inline constexpr std::size_t slot_count = 64;
// These are kept for messages of the program whose length is that of a token that is under way: a token in
// their place must not be longer than they are.
inline constexpr std::uint64_t small_slots = 0xFF;
inline constexpr std::size_t shortest_token = 67, token_step = 8;

constexpr std::size_t token_bytes(std::size_t slot) noexcept { return shortest_token + token_step * slot; }
inline constexpr std::size_t longest_token = token_bytes(slot_count - 1);

// The slot of a message of this length, if it is a token; −1: it is none.
constexpr int slot_of(std::uint64_t bytes) noexcept {
  const std::uint64_t beyond = bytes - shortest_token;
  return beyond <= longest_token - shortest_token && beyond % token_step == 0
             ? static_cast<int>(beyond / token_step)
             : -1;
}

struct Mark {
  std::uint64_t words[2]{};
  friend bool operator==(const Mark &, const Mark &) = default;
};

// What a token says.
struct Token {
  Mark mark;              // of this run, random
  std::uint64_t sequence; // of the slot's messages
  std::uint32_t from, slot;
};
// In a token's slot: its message comes from another node, by a lane; `from` is a world rank then.
inline constexpr std::uint32_t by_lane = 1U << 31U;
static_assert(sizeof(Token) <= shortest_token);

enum class State : std::uint8_t {
  idle,
  waiting, // for a receiver
  copying, // the sender copies it into its pool
  escaped, // is in the pool: the sender's buffer is free
  claimed, // a receiver copies it, from the buffer
  taken,   // … from the pool
  done
};

struct alignas(line) Slot {
  // Sequence × 8 + State. The sender writes the rest while it is idle or (pooled) copying.
  std::atomic<std::uint64_t> state;
  std::uint64_t bytes{};
  std::uint64_t place{};  // in the arena, or an address
  std::uint64_t pooled{}; // in the arena
  std::int32_t to{};
  std::uint32_t mapped{};    // `place` is in the arena
  std::uint32_t receiving{}; // the sender is itself to receive
};

constexpr std::uint64_t word(std::uint64_t sequence, State state) noexcept {
  return sequence * 8 + static_cast<std::uint64_t>(state);
}
constexpr State state_of(std::uint64_t word) noexcept { return static_cast<State>(word % 8); }

// A copy in chunks, which anyone can claim who was told what it is. The receiver keeps it.
inline constexpr std::size_t job_count = 16, most_chunks = 64;

struct alignas(line) Job {
  std::atomic<std::uint64_t> next;               // sequence × 256 + the next chunk to be claimed
  alignas(line) std::atomic<std::uint64_t> done; // chunks, a bit each
  std::atomic<std::uint64_t> helpers;            // ranks modulo 64, a bit each
};

struct Desk {
  // Calls of this rank that block and look at no token meanwhile.
  alignas(line) std::atomic<std::uint32_t> away{0};
  Slot slots[slot_count];
  Job jobs[job_count];
};

} // namespace haloscope::stencil::layer
