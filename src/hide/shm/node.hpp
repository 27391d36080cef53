// The ranks of this node: their desks, their memory, and whether they live.
//
// A desk is what a rank lays out for the others of its node: the messages that it wants to send, and the
// copies with which others may help it. It lies in the rank's arena; whoever holds a token or a task knows
// where to look.
#pragma once

#include "hide/halo/channels.hpp"
#include "hide/halo/queues.hpp"
#include "hide/shm/heap/shared_arena.hpp"
#include "hide/shm/layouts.hpp"
#include "hide/shm/nearness.hpp"
#include "interpose/library.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace haloscope::shm {

// Shared memory, and communication through it.
using namespace halo;
using namespace heap;

// The length of a token gives the slot in which its message is described, so that a probe can find the true
// size. These lengths are odd, and no multiple of the size of an element that programs send. A sender uses a
// length for tokens to a rank only if the program has never sent it a message of this length.
inline constexpr std::size_t slot_count = 64;
// Slots for program messages with the length of a token that is under way. A token in place of such a message
// must not be longer than the message.
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

// The contents of a token.
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

// A receiver's report about a message, by the node's common clock: the time when it first looked for it, and
// the time when its data arrived. 0: unknown.
struct Arrival {
  std::int64_t asked = 0, there = 0;
};

struct alignas(line) Slot {
  // Sequence × 8 + State. The sender writes the rest while it is idle or (pooled) copying.
  std::atomic<std::uint64_t> state;
  std::uint64_t bytes{};
  std::uint64_t place{};  // in the arena, or an address
  std::uint64_t pooled{}; // in the arena
  Arrival arrival;        // the receiver's answer
  std::int32_t to{};
  std::uint32_t mapped : 1 = 0;    // `place` is in the arena
  std::uint32_t receiving : 1 = 0; // the sender is itself to receive
  std::uint32_t strided : 1 = 0;   // the message lies there as `layout` says
  std::uint32_t packed : 1 = 0;    // it was in the pool from the beginning
  Layout layout;
};

constexpr std::uint64_t word(std::uint64_t sequence, State state) noexcept {
  return sequence * 8 + static_cast<std::uint64_t>(state);
}
constexpr State state_of(std::uint64_t word) noexcept { return static_cast<State>(word % 8); }

// A copy in chunks, on the receiver's desk. Every rank that knows of it can claim chunks.
inline constexpr std::size_t job_count = 16, most_chunks = 4096; // 4 MiB in chunks of 1 KiB

struct alignas(line) Job {
  std::atomic<std::uint64_t> next;                  // sequence × 65536 + the next chunk to be claimed
  alignas(line) std::atomic<std::uint64_t> helpers; // ranks modulo 64, a bit each
  std::array<std::atomic<std::uint64_t>, most_chunks / 64> done; // chunks, a bit each
};

// A message that MPI carries, so that its receiver can say how long it took. It lies on the sender's desk.
inline constexpr std::size_t note_count = 16;

struct alignas(line) Note {
  std::atomic<std::uint64_t> state; // sequence << 32 | the receiver's rank << 2 | NoteState
  std::uint64_t bytes{};
  Arrival arrival;
  std::int32_t tag{};
};

struct Desk {
  // Calls of this rank that block and look at no token meanwhile.
  alignas(line) std::atomic<std::uint32_t> away{0};
  std::atomic<std::uint32_t> noted{0}; // notes that wait for an answer, a bit each
  Slot slots[slot_count];
  Note notes[note_count];
  Job jobs[job_count];
};

// The pointer to an address that another rank has sent as a number.
inline std::byte *pointer_to(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte *>(address); // NOLINT(performance-no-int-to-ptr)
}

struct Peer {
  Desk *desk = nullptr;
  std::byte *base = nullptr; // where its arena begins, as this rank sees it
  std::int64_t process = 0;
  int world_rank = 0;
  std::uint64_t poisoned = 0; // slots whose length we sent as a message of the program to it
  Channels::Tasks::Cursor cursor;
  // A bit for each of our last messages to it: 1 if it came too late. `pause` messages are then left to MPI.
  std::uint32_t outcomes = 0, pause = 0, left_alone = 0;
  int exit = -1; // a descriptor that tells of its end, once it was asked for
};

class Node {
public:
  // Collective over MPI_COMM_WORLD. Returns nullptr on all ranks of a node whose memory cannot be shared.
  // `why` is the reason.
  static std::unique_ptr<Node> make(Arena *arena, std::string &why);
  ~Node();
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  [[nodiscard]] std::size_t me() const noexcept { return me_; }
  [[nodiscard]] std::size_t ranks() const noexcept { return peers_.size(); }
  [[nodiscard]] Peer &peer(std::size_t rank) noexcept { return peers_[rank]; }
  [[nodiscard]] Desk &desk() noexcept { return *peers_[me_].desk; }
  [[nodiscard]] Channels &channels() noexcept { return *channels_; }
  [[nodiscard]] const Nearness &nearness() const noexcept { return nearness_; }
  [[nodiscard]] Arena &arena() noexcept { return *arena_; }
  [[nodiscard]] const Mark &mark() const noexcept { return mark_; }
  [[nodiscard]] bool has_other_nodes() const noexcept { return peers_.size() < of_world_.size(); }
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }       // more ranks than processors
  [[nodiscard]] bool may_attach() const noexcept { return may_attach_; } // to all others' memory
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

  // The rank in the node of another rank of a communicator; −1: ourselves, or elsewhere.
  [[nodiscard]] int find(MPI_Comm comm, int rank) const;
  // Its world rank; −1: it is of an intercommunicator, or of another world.
  [[nodiscard]] int world_rank(MPI_Comm comm, int rank) const;
  [[nodiscard]] bool has(int world_rank) const noexcept {
    return of_world_[static_cast<std::size_t>(world_rank)] >= 0;
  }
  // A place in our arena, as others know it.
  [[nodiscard]] std::uint64_t place_of(const void *address) const noexcept { return arena_->offset(address); }
  // A place in a rank's arena, as this one sees it.
  [[nodiscard]] std::byte *at(std::size_t rank, std::uint64_t place) noexcept {
    return peers_[rank].base + place;
  }
  [[nodiscard]] bool lives(std::size_t rank) noexcept;

private:
  Node() = default;

  std::size_t me_ = 0;
  std::vector<Peer> peers_;
  std::vector<std::int16_t> of_world_; // ranks in the node, or −1
  Arena *arena_ = nullptr;
  std::vector<ForeignArena> foreign_;
  std::unique_ptr<Channels> channels_;
  Nearness nearness_;
  Mark mark_;
  bool crowded_ = false, may_attach_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int keyval_ = MPI_KEYVAL_INVALID;
};

} // namespace haloscope::shm
