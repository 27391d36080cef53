// The ranks of this node: their desks, their memory, and whether they live.
#pragma once

#include "hide/halo/channels.hpp"
#include "hide/layer/desk.hpp"
#include "hide/layer/heap/arena.hpp"
#include "interpose/library.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace haloscope::stencil::layer {

// An address that came as a number.
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
  // How our last messages to it ended, a bit each: it came too late. Then so many are left to MPI.
  std::uint32_t outcomes = 0, pause = 0, left_alone = 0;
  int exit = -1; // a descriptor that tells of its end, once it was asked for
};

class Node {
public:
  // Collective over MPI_COMM_WORLD. Nothing on all ranks of a node where its memory cannot be shared; `why`
  // then says what is wrong.
  static std::unique_ptr<Node> make(Arena *arena, std::string &why);
  ~Node();
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  [[nodiscard]] std::size_t me() const noexcept { return me_; }
  [[nodiscard]] std::size_t ranks() const noexcept { return peers_.size(); }
  [[nodiscard]] Peer &peer(std::size_t rank) noexcept { return peers_[rank]; }
  [[nodiscard]] Desk &desk() noexcept { return *peers_[me_].desk; }
  [[nodiscard]] Channels &channels() noexcept { return *channels_; }
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
  Mark mark_;
  bool crowded_ = false, may_attach_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int keyval_ = MPI_KEYVAL_INVALID;
};

} // namespace haloscope::stencil::layer
