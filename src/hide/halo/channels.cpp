#include "hide/halo/channels.hpp"

namespace haloscope::halo {

Channels::Channels(const std::vector<std::span<std::byte>> &regions, std::size_t me)
    : me_(me), pool_(regions[me]), outgoing_(regions.size()), incoming_(regions.size()) {
  pool_.make<Head>();
  pool_.take(regions.size() * sizeof(Offset));
  for (const auto &region : regions) heads_.push_back(reinterpret_cast<Head *>(region.data()));
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

} // namespace haloscope::halo
