#include "recording.hpp"

#include <algorithm>
#include <bit>

namespace haloscope::watch {

namespace {

// Where records go that have no room; never read.
thread_local CallPage lost_calls;

// The partner itself, under its world name, in `node` and every region around it.
Partner *world_partner(Arena &arena, Node &node, int world_rank) noexcept {
  PartnerName *name = node.partner_names.find_or_make(partner_key(0, world_rank), arena);
  if (name == nullptr) return nullptr;
  if (name->partner == nullptr) {
    auto *partner = arena.make<Partner>();
    if (partner == nullptr) return nullptr;
    partner->rank = world_rank;
    if (node.parent != nullptr) partner->parent = world_partner(arena, *node.parent, world_rank);
    partner->next = node.partners;
    std::atomic_signal_fence(std::memory_order_release);
    node.partners = partner;
    // The nodes around this one may have made the table grow only if they are this one: they are not.
    name->partner = partner;
  }
  return name->partner;
}

} // namespace

Partner *make_partner(Recorder &to, Node &node, std::uint32_t communicator, int rank,
                      int world_rank) noexcept {
  Partner *partner = world_partner(*to.arena, node, world_rank);
  if (partner != nullptr && communicator != 0) {
    PartnerName *alias = node.partner_names.find_or_make(partner_key(communicator, rank), *to.arena);
    if (alias == nullptr) return partner;
    alias->partner = partner;
  }
  if (partner != nullptr) return partner;
  to.dropped();
  return &to.lost_partner;
}

SizeRecord *make_size(Recorder &to, Node &node, Kind kind, std::uint64_t bytes) noexcept {
  std::uint64_t key = size_key(kind, bytes);
  if (node.sizes.count >= exact_sizes) {
    // The top bit marks a range; its lower bound is the power of two below.
    key = size_key(kind, std::bit_floor(bytes)) | 1ULL << 63U;
    node.sizes_spilled++;
  }
  SizeRecord *record = node.sizes.find_or_make(key, *to.arena);
  if (record != nullptr) return record;
  to.dropped();
  return &to.lost_size;
}

CallPage *make_call_page(Recorder &to, Node &node, unsigned page) noexcept {
  auto *made = to.arena->make<CallPage>();
  if (made == nullptr) {
    to.dropped();
    return &lost_calls;
  }
  std::atomic_signal_fence(std::memory_order_release);
  node.calls[page] = made;
  return made;
}

void first_send_of_instance(Node &node, Partner &partner) noexcept {
  partner.dest_seen = node.instance;
  node.now[dest_ranks]++;
  // A region around that has seen the partner has told those around it.
  Node *around = &node;
  Partner *same = &partner;
  while (around != nullptr && same != nullptr && same->dest_seen_nested != around->instance) {
    same->dest_seen_nested = around->instance;
    around->nested[dest_ranks]++;
    around = around->parent;
    same = same->parent;
  }
}

void first_receive_of_instance(Node &node, Partner &partner) noexcept {
  partner.src_seen = node.instance;
  node.now[src_ranks]++;
  Node *around = &node;
  Partner *same = &partner;
  while (around != nullptr && same != nullptr && same->src_seen_nested != around->instance) {
    same->src_seen_nested = around->instance;
    around->nested[src_ranks]++;
    around = around->parent;
    same = same->parent;
  }
}

void uncount_send(Recorder &to, Partner &partner, std::uint64_t bytes) noexcept {
  Node &node = *to.node;
  partner.sends--;
  partner.bytes_sent -= bytes;
  size_record(to, Kind::p2p, bytes).messages--;
  node.now[sends]--;
  node.now[bytes_sent] -= bytes;
  // Counted by a finished instance, it is not the current one's to give back.
  for (const unsigned q : {sends, bytes_sent}) node.before[q] = std::min(node.before[q], node.now[q]);
  node.largest_message = 0;
  node.sizes.each([&](const SizeRecord &size) {
    if ((size.key & 3U) == static_cast<std::uint64_t>(Kind::p2p) && size.messages > 0)
      node.largest_message = std::max(node.largest_message, (size.key & ~(std::uint64_t{1} << 63U)) >> 2U);
  });
}

void count_collective(Recorder &to, Function function, std::uint32_t communicator_size, std::uint64_t bytes,
                      std::uint64_t duration) noexcept {
  Node &node = *to.node;
  node.now[colls]++;
  node.coll_bytes += bytes;
  SizeRecord &size = size_record(to, Kind::coll, bytes);
  size.messages++;
  size.ticks += duration;
  const CollectiveKey key{(static_cast<std::uint64_t>(function) + 1) << 32U | communicator_size, bytes};
  CollectiveRecord *record = node.collectives.find_or_make(key, *to.arena);
  if (record == nullptr) {
    to.dropped();
    return;
  }
  record->calls++;
  record->ticks += duration;
  record->longest = std::max(record->longest, duration);
}

void count_one_sided(Recorder &to, std::uint64_t bytes, std::uint64_t duration) noexcept {
  to.node->rma_ops++;
  to.node->rma_bytes += bytes;
  SizeRecord &size = size_record(to, Kind::rma, bytes);
  size.messages++;
  size.ticks += duration;
}

} // namespace haloscope::watch
