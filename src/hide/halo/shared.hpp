// The edges within a node: what a rank sends lies in its region of a segment, where its neighbours find it.
#pragma once

#include "hide/halo/queues.hpp"
#include "hide/halo/segment.hpp"
#include "hide/halo/topology.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace haloscope::halo {

// The ranks that share memory with this one.
struct Node {
  Communicator comm;
  std::vector<int> ranks; // of the whole communicator, by rank in the node
  bool crowded = false;   // more ranks than processors

  Node(MPI_Comm whole, int sharing); // collective
  // Rank in the node, or −1.
  [[nodiscard]] int find(int rank) const noexcept;
};

class Shared {
public:
  // Collective over the node. Nothing where memory cannot be shared. The edges are those within the node.
  static std::unique_ptr<Shared> make(const Node &node, const Edges &edges);

  // A side's edge by its position among those given.
  struct Side {
    Handover<> *flags;
    std::byte *copies[2];
    std::size_t bytes;
  };
  [[nodiscard]] const std::vector<Side> &sends() const noexcept { return sends_; }
  [[nodiscard]] const std::vector<Side> &receives() const noexcept { return receives_; }

  // The exchange that is going on, or was the last one.
  [[nodiscard]] std::uint64_t exchange() const noexcept { return exchange_; }
  [[nodiscard]] bool may_write(std::size_t edge) const noexcept {
    return sends_[edge].flags->may_write(exchange_ + 1);
  }
  [[nodiscard]] std::byte *next(const Side &side) const noexcept {
    return side.copies[(exchange_ + 1) % copies];
  }
  [[nodiscard]] std::byte *last(const Side &side) const noexcept { return side.copies[exchange_ % copies]; }

  // start() may have to wait until buffers may be written: it also sends the buffers that the program did not
  // ask for.
  [[nodiscard]] bool may_start() const noexcept;
  void start() noexcept;
  // How many of the receives are there, if the first `known` are.
  [[nodiscard]] std::size_t arrived(std::size_t known) const noexcept;
  void release() noexcept;

private:
  explicit Shared(Segment segment) : segment_(std::move(segment)) {}

  Segment segment_;
  std::vector<Side> sends_, receives_;
  std::uint64_t exchange_ = 0;
};

} // namespace haloscope::halo
