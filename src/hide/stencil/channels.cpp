#include "channels.hpp"

#include "agree.hpp"

namespace haloscope::stencil {

std::optional<Channels> Channels::make(MPI_Comm node, std::size_t pairs) {
  int rank = 0, ranks = 0;
  check(MPI_Comm_rank(node, &rank));
  check(MPI_Comm_size(node, &ranks));
  const std::size_t directory = static_cast<std::size_t>(ranks) * sizeof(Offset);
  auto segment = Segment::make(node, sizeof(Head) + directory + line + pairs * sizeof(Queue));
  if (!segment) return {};
  Channels made{std::move(*segment), rank, ranks};
  check(MPI_Barrier(node)); // all heads are there
  return made;
}

Channels::Channels(Segment segment, int me, int ranks)
    : segment_(std::move(segment)), me_(static_cast<std::size_t>(me)), pool_(segment_.region(me)),
      outgoing_(static_cast<std::size_t>(ranks)), incoming_(static_cast<std::size_t>(ranks)) {
  pool_.make<Head>();
  pool_.take(static_cast<std::size_t>(ranks) * sizeof(Offset));
  for (int i = 0; i < ranks; i++) heads_.push_back(reinterpret_cast<Head *>(segment_.region(i).data()));
}

Channels::Offset &Channels::directory(std::size_t from, std::size_t to) const noexcept {
  return reinterpret_cast<Offset *>(heads_[from] + 1)[to];
}

bool Channels::send(int to, const Control &message) noexcept {
  const auto i = static_cast<std::size_t>(to);
  if (outgoing_[i] == nullptr) {
    auto *queue = pool_.make<Queue>();
    if (queue == nullptr) return false;
    outgoing_[i] = queue;
    const auto *begin = reinterpret_cast<const std::byte *>(heads_[me_]);
    const auto offset = reinterpret_cast<const std::byte *>(queue) - begin;
    directory(me_, i).store(static_cast<std::uint64_t>(offset), std::memory_order_release);
  }
  return outgoing_[i]->push(message);
}

bool Channels::receive(int from, Control &message) noexcept {
  const auto i = static_cast<std::size_t>(from);
  if (incoming_[i] == nullptr) {
    const std::uint64_t offset = directory(i, me_).load(std::memory_order_acquire);
    if (offset == 0) return false;
    incoming_[i] = reinterpret_cast<Queue *>(reinterpret_cast<std::byte *>(heads_[i]) + offset);
  }
  return incoming_[i]->pop(message);
}

} // namespace haloscope::stencil
