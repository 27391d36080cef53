#include "watch/counting/recording.hpp"

#include "watch/gpu/device_memory.hpp"

#include <algorithm>
#include <bit>

namespace haloscope::watch {

namespace {

// Targets for counts when the arena is full. They are never read.
thread_local CallPage lost_calls;
thread_local Partner lost_partner;
thread_local SizeRecord lost_size;

// Names in communicators that a region remembers, so that a partner is found without a lock.
constexpr std::uint32_t most_partner_names = 16'384;

// The partner itself, under its world name, in `node` and every region around it.
Partner *world_partner(Arena &arena, Node &node, int world_rank) noexcept {
  PartnerName *name = node.partner_names.find_or_make(partner_key(0, world_rank), arena);
  if (name == nullptr) return nullptr;
  if (name->partner == nullptr) {
    auto *partner = arena.make<Partner>();
    if (partner == nullptr) return nullptr;
    partner->rank = world_rank;
    partner->node = &node;
    if (node.parent != nullptr) partner->parent = world_partner(arena, *node.parent, world_rank);
    partner->next = node.partners;
    std::atomic_signal_fence(std::memory_order_release);
    node.partners = partner;
    // The nodes around this one may have made the table grow only if they are this one: they are not.
    name->partner = partner;
  }
  return name->partner;
}

Partner *make_partner(Recorder &to, const Communicator &communicator, int rank) noexcept {
  Node &node = *to.node;
  Partner *partner = world_partner(*to.arena, node, world_rank(communicator, rank));
  if (partner == nullptr) {
    to.dropped();
    return nullptr;
  }
  if (communicator.id != 0 && !communicator.brief && node.partner_names.count < most_partner_names &&
      to.arena->allows_details())
    if (PartnerName *alias = node.partner_names.find_or_make(partner_key(communicator.id, rank), *to.arena))
      alias->partner = partner;
  return partner;
}

Partner *find_partner(Recorder &to, const Communicator &communicator, int rank) noexcept {
  if (!communicator.brief || communicator.id == 0)
    if (const PartnerName *name = to.node->partner_names.find(partner_key(communicator.id, rank)))
      return name->partner;
  return make_partner(to, communicator, rank);
}

SizeRecord &size_record(Recorder &to, Kind kind, std::uint64_t bytes) noexcept {
  Node &node = *to.node;
  std::uint64_t key = size_key(kind, to.memory, bytes);
  if (SizeRecord *record = node.sizes.find(key)) return *record;
  if (node.sizes.count >= exact_sizes || !to.arena->allows_details()) {
    // Its lower bound is the power of two below.
    key = size_key(kind, to.memory, std::bit_floor(bytes)) | size_range;
    node.sizes_spilled++;
  }
  if (SizeRecord *record = node.sizes.find_or_make(key, *to.arena)) return *record;
  to.dropped();
  return lost_size;
}

void count_use(const Recorder &to, const Communicator &communicator, std::uint64_t bytes) noexcept {
  for (CommunicatorUse *use = to.record->communicators; use != nullptr; use = use->next) {
    if (use->communicator != &communicator) continue;
    use->calls++;
    use->bytes += bytes;
    return;
  }
}

} // namespace

Partner &partner_of(Recorder &to, const Communicator &communicator, int rank) noexcept {
  Partner *partner = find_partner(to, communicator, rank);
  return partner == nullptr ? lost_partner : *partner;
}

MessageRecord *make_message(Recorder &to, const MessageKey &key, const Communicator &communicator,
                            int rank) noexcept {
  Node &node = *to.node;
  if (node.messages.count >= most_message_records || communicator.brief || !to.arena->allows_details())
    return nullptr;
  Partner *partner = find_partner(to, communicator, rank);
  if (partner == nullptr) return nullptr;
  const MessageRecord *before = node.messages.slots;
  MessageRecord *record = node.messages.find_or_make(key, *to.arena);
  if (node.messages.slots != before) to.forget_posts(); // the others have moved
  if (record != nullptr) record->partner = partner;
  return record;
}

void count_send_apart(Recorder &to, std::uint64_t message, const Communicator &communicator, int rank,
                      std::uint64_t bytes, std::uint64_t duration) noexcept {
  Node &node = *to.node;
  add_sends(node, 1, bytes);
  if (message >= sent) count_in_region(to, static_cast<Function>(message - sent), bytes);
  count_use(to, communicator, bytes);
  node.largest_message = std::max(node.largest_message, bytes);
  Partner &partner = partner_of(to, communicator, rank);
  add_sends(partner.p2p, 1, bytes);
  partner.ticks += duration;
  first_send_of_instance(node, partner);
  SizeRecord &size = size_record(to, Kind::p2p, bytes);
  size.messages++;
  size.ticks += duration;
}

void count_receive_apart(Recorder &to, Message message, const Communicator &communicator, int rank,
                         std::uint64_t bytes, std::uint64_t duration) noexcept {
  add_receives(*to.node, 1, bytes);
  if (message == arrived) count_use(to, communicator, 0);
  Partner &partner = partner_of(to, communicator, rank);
  add_receives(partner.p2p, 1, bytes);
  partner.ticks += duration;
  first_receive_of_instance(*to.node, partner);
  size_record(to, Kind::p2p, bytes).ticks += duration;
}

void add_send_time_apart(Recorder &to, const Communicator &communicator, int rank, std::uint64_t bytes,
                         std::uint64_t duration) noexcept {
  partner_of(to, communicator, rank).ticks += duration;
  size_record(to, Kind::p2p, bytes).ticks += duration;
}

CallPage *make_call_page(Recorder &to, CallPages &pages, unsigned page) noexcept {
  look_for_gpu(); // the program does something new: it may have loaded one's runtime
  auto *made = to.arena->make<CallPage>();
  if (made == nullptr) {
    to.dropped();
    return &lost_calls;
  }
  std::atomic_signal_fence(std::memory_order_release);
  pages[page] = made;
  return made;
}

CallPage &call_page_apart(Recorder &to, Function function) noexcept {
  const auto index = static_cast<unsigned>(function);
  CallPages *&pages = to.node->calls_apart[number_of(to.memory) - 1];
  if (pages == nullptr) {
    auto *made = to.arena->make<CallPages>();
    if (made == nullptr) {
      to.dropped();
      return lost_calls;
    }
    std::atomic_signal_fence(std::memory_order_release);
    pages = made;
  }
  CallPage *page = (*pages)[index / calls_per_page];
  if (page == nullptr) page = make_call_page(to, *pages, index / calls_per_page);
  return *page;
}

void add_estimate(Recorder &to, Function function, Estimated of, std::uint64_t duration) noexcept {
  const auto i = static_cast<unsigned>(of);
  call_page(to, function).estimated[static_cast<unsigned>(function) % calls_per_page][i] += duration;
  if (to.site != nullptr) to.site->estimated[i] += duration;
  to.node->estimate.ticks[i] += duration;
}

void first_send_of_instance(Node &node, Partner &partner) noexcept {
  if (partner.dest_seen == node.instance) return;
  partner.dest_seen = node.instance;
  node.now[dest_ranks]++;
  // Stop at the first enclosing region that has counted this partner: all outer regions have, too.
  Node *around = &node;
  Partner *same = &partner;
  while (around != nullptr && same != nullptr && same->dest_seen_nested != around->instance) {
    same->dest_seen_nested = around->instance;
    around->nested[dest_ranks]++;
    around->nested_used = true;
    around = around->parent;
    same = same->parent;
  }
}

void first_receive_of_instance(Node &node, Partner &partner) noexcept {
  if (partner.src_seen == node.instance) return;
  partner.src_seen = node.instance;
  node.now[src_ranks]++;
  Node *around = &node;
  Partner *same = &partner;
  while (around != nullptr && same != nullptr && same->src_seen_nested != around->instance) {
    same->src_seen_nested = around->instance;
    around->nested[src_ranks]++;
    around->nested_used = true;
    around = around->parent;
    same = same->parent;
  }
}

void uncount_send(Recorder &to, std::uint64_t message, const Communicator &communicator, int rank,
                  std::uint64_t bytes) noexcept {
  Node &node = *to.node;
  MessageRecord *record =
      node.messages.find(message_key(communicator.number, rank, bytes, to.memory, message));
  if (record != nullptr && record->messages > 0) {
    record->messages--;
    if (message >= sent) count_in_region(to, static_cast<Function>(message - sent), 0);
  } else {
    Partner &partner = partner_of(to, communicator, rank);
    if (partner.p2p.sends == 0) return; // counted apart, in a region that is not known any more
    add_sends(partner.p2p, -1, bytes);
    size_record(to, Kind::p2p, bytes).messages--;
    if (message >= sent) call_record(to, static_cast<Function>(message - sent)).bytes -= bytes;
  }
  add_sends(node, -1, bytes);
  // Counted by a finished instance, it is not the current one's to give back.
  for (const unsigned q : {sends, bytes_sent}) node.before[q] = std::min(node.before[q], node.now[q]);
  node.largest_message = 0;
  node.sizes.each([&](const SizeRecord &size) {
    if (kind_of_size(size.key) == Kind::p2p && size.messages > 0)
      node.largest_message = std::max(node.largest_message, bytes_of_size(size.key));
  });
}

CollectiveRecord *find_collective(Recorder &to, RecentCollective &recent) noexcept {
  Node &node = *to.node;
  CollectiveKey key{
      operation_key(static_cast<std::uint64_t>(recent.function), recent.memory, recent.communicator->size),
      recent.bytes};
  if (node.collectives.find(key) == nullptr &&
      (node.collectives.count >= exact_sizes || !to.arena->allows_details())) {
    key.bytes = std::bit_floor(key.bytes) | 1ULL << 63U;
    node.sizes_spilled++;
  }
  const CollectiveRecord *before = node.collectives.slots;
  CollectiveRecord *record = node.collectives.find_or_make(key, *to.arena);
  if (record == nullptr) to.dropped();
  if (node.collectives.slots != before) { // the others have moved
    const RecentCollective wanted = recent;
    to.recent_collectives.fill({});
    recent = wanted;
  }
  // A range is not remembered: each message in it is to be counted as one.
  if (record == nullptr || key.bytes != recent.bytes)
    recent = {};
  else
    recent.record = record;
  return record;
}

void count_one_sided(Recorder &to, std::uint64_t bytes, std::uint64_t duration) noexcept {
  to.node->rma_ops++;
  to.node->rma_bytes += bytes;
  SizeRecord &size = size_record(to, Kind::rma, bytes);
  size.messages++;
  size.ticks += duration;
}

} // namespace haloscope::watch
