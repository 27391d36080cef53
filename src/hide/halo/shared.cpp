#include "hide/halo/shared.hpp"

#include "hide/halo/queues.hpp"

#include <algorithm>
#include <unistd.h>

namespace haloscope::halo {

namespace {

// A region begins with its edges, so that those who receive find them.
struct Entry {
  int to, number;                    // rank in the node
  std::uint64_t flags, data[copies]; // offsets
};

std::size_t needed(const std::vector<Edge> &sends) {
  std::size_t bytes = 2 * line + sends.size() * sizeof(Entry);
  for (const Edge &edge : sends) bytes += sizeof(Handover<>) + copies * (edge.bytes + line);
  return bytes;
}

} // namespace

Node::Node(MPI_Comm whole, int sharing) {
  int rank = 0;
  check(MPI_Comm_rank(whole, &rank));
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_split_type(whole, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made));
  comm = Communicator{made};
  crowded = comm.size() > sysconf(_SC_NPROCESSORS_ONLN);
  if (sharing > 0) {
    check(MPI_Comm_split(comm.get(), comm.rank() / sharing, rank, &made));
    comm = Communicator{made};
  }
  ranks.resize(static_cast<std::size_t>(comm.size()));
  check(MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm.get()));
}

int Node::find(int rank) const noexcept {
  const auto found = std::ranges::lower_bound(ranks, rank); // they were split in this order
  return found != ranks.end() && *found == rank ? static_cast<int>(found - ranks.begin()) : -1;
}

std::unique_ptr<Shared> Shared::make(const Node &node, const Edges &edges) {
  auto segment = Segment::make(node.comm.get(), needed(edges.sends));
  if (!segment) return {};
  std::unique_ptr<Shared> made{new Shared{std::move(*segment)}};
  const auto region = made->segment_.region(node.comm.rank());
  Pool pool{region};
  auto *count = reinterpret_cast<std::uint64_t *>(pool.take(sizeof(std::uint64_t)));
  auto *entries = reinterpret_cast<Entry *>(pool.take(edges.sends.size() * sizeof(Entry)));
  const auto offset = [&](const void *place) {
    return static_cast<std::uint64_t>(static_cast<const std::byte *>(place) - region.data());
  };
  for (const Edge &edge : edges.sends) {
    Side side{pool.make<Handover<>>(), {pool.take(edge.bytes), pool.take(edge.bytes)}, edge.bytes};
    entries[(*count)++] = {node.find(edge.rank),
                           edge.number,
                           offset(side.flags),
                           {offset(side.copies[0]), offset(side.copies[1])}};
    made->sends_.push_back(side);
  }
  check(MPI_Barrier(node.comm.get())); // all entries are there
  for (const Edge &edge : edges.receives) {
    std::byte *from = made->segment_.region(node.find(edge.rank)).data();
    const std::uint64_t listed = *reinterpret_cast<const std::uint64_t *>(from);
    const auto *list = reinterpret_cast<const Entry *>(from + line);
    const auto *found = std::find_if(list, list + listed, [&](const Entry &entry) {
      return entry.to == node.comm.rank() && entry.number == edge.number;
    });
    made->receives_.push_back({reinterpret_cast<Handover<> *>(from + found->flags),
                               {from + found->data[0], from + found->data[1]},
                               edge.bytes});
  }
  return made;
}

bool Shared::may_start() const noexcept {
  for (std::size_t i = 0; i < sends_.size(); i++)
    if (!may_write(i)) return false;
  return true;
}

void Shared::start() noexcept {
  exchange_++;
  for (const Side &side : sends_) side.flags->publish(exchange_);
}

std::size_t Shared::arrived(std::size_t known) const noexcept {
  while (known < receives_.size() && receives_[known].flags->may_read(exchange_)) known++;
  return known;
}

void Shared::release() noexcept {
  for (const Side &side : receives_) side.flags->release(exchange_);
}

} // namespace haloscope::halo
