// Regions: the tree of paths a thread walks through.
//
// Budget of an empty region, begin and end: two stamps, one comparison of the name with the child
// entered last, about thirty loads and adds: under 1.6 clock_gettime.
#include "watch/counting/chosen_regions.hpp"
#include "watch/counting/recording.hpp"
#include "watch/counting/series.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace haloscope::watch {

namespace {

std::uint64_t hash_of_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U; // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  return hash == 0 ? 1 : hash;
}

// Whether eight bytes are `text`, as far as `mask` says. Only whole words are read, and only those in which
// the text has a byte: memory beyond it belongs to others.
[[gnu::no_sanitize("address", "thread")]] inline bool has_bytes(const char *at, std::uint64_t text,
                                                                std::uint64_t mask) noexcept {
  using Word [[gnu::may_alias]] = std::uint64_t;
  const std::size_t before = reinterpret_cast<std::uintptr_t>(at) % sizeof(Word);
  const auto *word = reinterpret_cast<const Word *>(at - before);
  const std::uint64_t first = ~std::uint64_t{0} >> 8 * before; // the bytes in the first word
  if (((word[0] >> 8 * before ^ text) & mask & first) != 0) return false;
  if ((mask & ~first) == 0) return true;
  return ((word[1] << 8 * (sizeof(Word) - before) ^ text) & mask & ~first) == 0;
}

// The name's first bytes in few steps.
inline bool has_name(const Node &node, const char *name) noexcept {
  if constexpr (std::endian::native == std::endian::big) return std::strcmp(node.name, name) == 0;
  const auto &[text, mask] = node.head;
  if (!has_bytes(name, text[0], mask[0])) return false;
  if (mask[1] == 0) return true;
  if (!has_bytes(name + sizeof text[0], text[1], mask[1])) return false;
  return mask[1] != ~std::uint64_t{0} || std::strcmp(node.name, name) == 0;
}

NameHead head_of(const char *name) noexcept {
  NameHead head{};
  const std::size_t bytes = std::min(std::strlen(name) + 1, sizeof head.text);
  std::memcpy(head.text.data(), name, bytes);
  std::memset(head.mask.data(), 0xFF, bytes);
  return head;
}

const char *copy_name(Arena &arena, const char *name) noexcept {
  const std::size_t bytes = std::strlen(name) + 1;
  auto *copy = static_cast<char *>(arena.allocate(bytes));
  if (copy != nullptr) std::memcpy(copy, name, bytes);
  return copy;
}

[[gnu::noinline]] Node *make_child(const Recorder &to, Node &parent, const char *name) noexcept {
  if (parent.depth == deepest_region || !to.arena->allows_details()) {
    to.dropped();
    return nullptr;
  }
  NodeName *entry = parent.child_names.find_or_make(hash_of_name(name), *to.arena);
  auto *node = to.arena->make<Node>();
  const char *copy = copy_name(*to.arena, name);
  if (entry == nullptr || node == nullptr || copy == nullptr) {
    to.dropped();
    return nullptr;
  }
  node->parent = &parent;
  node->name = copy;
  node->head = head_of(copy);
  node->depth = parent.depth + 1;
  node->series = keeps_series(*node);
  node->reads_cpu = true;
  // A region inside a region that counts does so, too.
  node->counts = parent.counts == &parent || is_only(*node) ? node : to.discard;
  node->same_hash = entry->node;
  entry->node = node;
  std::atomic_signal_fence(std::memory_order_release);
  (parent.last_child == nullptr ? parent.first_child : parent.last_child->next_sibling) = node;
  parent.last_child = node;
  return node;
}

[[gnu::noinline]] Node *find_child(Recorder &to, Node &parent, const char *name) noexcept {
  if (NodeName *entry = parent.child_names.find(hash_of_name(name)))
    for (Node *node = entry->node; node != nullptr; node = node->same_hash)
      if (std::strcmp(node->name, name) == 0) return node;
  return make_child(to, parent, name);
}

void widen(Extremes &extremes, const Quantities &values, bool first) noexcept {
  if (first) {
    extremes.least = extremes.most = values;
    return;
  }
  for (unsigned q = 0; q < quantities; q++) {
    extremes.least[q] = std::min(extremes.least[q], values[q]);
    extremes.most[q] = std::max(extremes.most[q], values[q]);
  }
}

#if defined(HALOSCOPE_ABI_SIMGRID) // one thread of the system for all ranks
constexpr bool can_read_cpu = false;
#else
constexpr bool can_read_cpu = true;
#endif

void enter(Node &node, std::uint64_t now) noexcept {
  node.instance++;
  node.begin = now;
  if (can_read_cpu && __builtin_expect(node.reads_cpu, 0))
    node.cpu_before = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  node.wait_before = node.wait_ticks;
  if (__builtin_expect(node.nested_used, 0)) {
    node.nested = {};
    node.nested_used = node.had_nested = false;
  }
}

// Adds a finished instance that is unlike the one before.
[[gnu::noinline]] void add_extremes(Node &node, const Quantities &own, const Quantities &whole) noexcept {
  widen(node.exclusive, own, node.instances == 0);
  widen(node.inclusive, whole, node.instances == 0);
  node.last = own;
  // Only an instance with nothing nested is described by `own` alone.
  if (node.had_nested) node.last[sends] = ~std::uint64_t{0};
  node.last_was_empty = own == Quantities{} && !node.had_nested;
}

// Adds a finished instance in which something happened, or whose like was not there before.
[[gnu::noinline]] void add_instance(Node &node) noexcept {
  Quantities own;
  for (unsigned q = 0; q < quantities; q++) own[q] = node.now[q] - node.before[q];
  Quantities whole = node.nested;
  for (unsigned q = 0; q < additive_quantities; q++) whole[q] += own[q];
  // Most instances are like the one before: then their extremes are known.
  if (node.instances == 0 || node.had_nested || own != node.last) add_extremes(node, own, whole);
  node.before = node.now;
  if (Node *parent = node.parent) {
    parent->had_nested = parent->nested_used = true;
    for (unsigned q = 0; q < additive_quantities; q++) parent->nested[q] += whole[q];
  }
}

[[gnu::noinline, gnu::cold]] void keep_instance(const Recorder &to, Node &node,
                                                std::uint64_t duration) noexcept {
  if (node.series_end == 0) node.series_end = to.process->first.tick;
  const std::uint64_t packed =
      pack_instance(node.series_end, node.begin, duration, node.wait_ticks - node.wait_before);
  if (!to.arena->allows_details() || !node.instance_list.append(packed, *to.arena)) to.dropped();
}

// Whether it is in the trace: the root always lasts from the begin to the end.
inline bool is_traced(const Recorder &to, const Node &node) noexcept {
  return __builtin_expect(to.ring != nullptr, 0) && node.parent != nullptr && node.counts == &node;
}

// A system call: only instances of regions that last long get here, and the first one of each region.
[[gnu::noinline, gnu::cold]] void add_cpu(Recorder &to, Node &node, std::uint64_t duration) noexcept {
  node.cpu += nanoseconds(CLOCK_THREAD_CPUTIME_ID) - node.cpu_before;
  node.cpu_ticks += duration;
  if (to.millisecond == 0)
    to.millisecond = static_cast<std::uint64_t>(1e-3 / seconds_per_tick(to.process->first, ClockPair::now()));
}

inline void begin_instance(Recorder &to, Node &node, std::uint64_t begin) noexcept {
  enter(node, begin);
  if (__builtin_expect(to.parallel_parts != 0, 0)) to.left_call_ticks -= ticks_in_calls(node);
  if (is_traced(to, node)) trace_region(to, node, true, begin);
}

inline void finish_instance(Recorder &to, Node &node, std::uint64_t end) noexcept {
  if (is_traced(to, node)) trace_region(to, node, false, end);
  if (__builtin_expect(to.parallel_parts != 0, 0)) to.left_call_ticks += ticks_in_calls(node);
  // An instance without traffic, like the one before, changes nothing but the sums.
  if (node.now != node.before || node.had_nested || !node.last_was_empty) add_instance(node);
  node.instances++;
  const std::uint64_t duration = end - node.begin;
  node.ticks += duration;
  if (can_read_cpu && __builtin_expect(node.reads_cpu, 0)) add_cpu(to, node, duration);
  node.reads_cpu = node.ticks >= node.instances * to.millisecond;
  if (__builtin_expect(node.series, 0)) keep_instance(to, node, duration);
  node.begin = 0;
}

// A region records few different values: its names are among the latest records.
const char *known_value_name(const Node &node, const char *name) noexcept {
  const Chunk<ValueRecord> *chunk = node.value_list.last;
  if (chunk == nullptr) return nullptr;
  const std::uint64_t oldest = chunk->count > 16 ? chunk->count - 16 : 0;
  for (std::uint64_t i = chunk->count; i > oldest; i--)
    if (std::strcmp(chunk->records[i - 1].name, name) == 0) return chunk->records[i - 1].name;
  return nullptr;
}

// Leaves the current region.
void leave(Recorder &to, std::uint64_t now) noexcept {
  Node &node = *to.position;
  if (node.begin != 0) finish_instance(to, node, now);
  to.position = node.parent;
  if (to.paused == 0) to.node = to.position->counts;
}

} // namespace

Node *make_root(Arena &arena, const char *name) noexcept {
  auto *root = arena.make<Node>();
  const char *copy = copy_name(arena, name);
  if (root == nullptr || copy == nullptr) return nullptr;
  root->name = copy;
  root->reads_cpu = true;
  enter(*root, ticks());
  return root;
}

void begin_region(Recorder &to, const char *name, bool communication) noexcept {
  if (__builtin_expect(to.phases != nullptr, 0)) give_up_phases(to);
  if (__builtin_expect(to.lost_regions > 0, 0)) { // nothing inside is kept either: ends go by number
    to.lost_regions++;
    to.dropped();
    return;
  }
  Node &parent = *to.position;
  Node *node = parent.recent;
  if (node == nullptr || !has_name(*node, name)) {
    node = find_child(to, parent, name);
    if (node == nullptr) {
      to.lost_regions++;
      return;
    }
    parent.recent = node;
  }
  node->communication = node->communication || communication;
  to.position = node;
  if (to.paused != 0) {
    node->begin = 0;
    // It may be the first thing to be counted.
    if (to.deadline != ~std::uint64_t{0}) note_time(to, ticks());
    return;
  }
  to.node = node->counts;
  begin_instance(to, *node, ticks());
}

bool has_child(const Node &parent, const char *name) noexcept {
  const NodeName *entry = parent.child_names.find(hash_of_name(name));
  for (const Node *node = entry == nullptr ? nullptr : entry->node; node != nullptr; node = node->same_hash)
    if (std::strcmp(node->name, name) == 0) return true;
  return false;
}

void end_region(Recorder &to, const char *name) noexcept {
  const std::uint64_t now = ticks();
  if (to.lost_regions > 0) {
    to.lost_regions--;
    return;
  }
  Node *match = to.position;
  while (match->parent != nullptr && !has_name(*match, name)) match = match->parent;
  if (match->parent == nullptr) {
    to.record->unmatched_ends++;
    return;
  }
  while (to.position != match) {
    to.record->unmatched_begins++;
    leave(to, now);
  }
  leave(to, now);
  note_time(to, now);
}

void record_value(Recorder &to, const char *name, double value) noexcept {
  Node &node = *to.position;
  if (to.paused != 0 || !node.series) return;
  const char *copy = known_value_name(node, name);
  if (copy == nullptr && to.arena->allows_details()) copy = copy_name(*to.arena, name);
  if (copy == nullptr || !to.arena->allows_details() ||
      !node.value_list.append({copy, node.instance - 1, value}, *to.arena))
    to.dropped();
}

void pause(Recorder &to, Pause by, bool paused) noexcept {
  const auto bit = static_cast<std::uint8_t>(by);
  to.paused = static_cast<std::uint8_t>(paused ? to.paused | bit : to.paused & ~bit);
  to.node = to.paused != 0 ? to.discard : to.position->counts;
}

void suspend_regions(Recorder &to, std::uint64_t now) noexcept {
  for (Node *node = to.position; node != nullptr; node = node->parent)
    if (node->begin != 0) finish_instance(to, *node, now);
}

void resume_regions(Recorder &to, std::uint64_t now) noexcept {
  // The outer ones first, in the trace as well; at most deepest_region of them.
  std::array<Node *, deepest_region + 1> open;
  std::size_t count = 0;
  for (Node *node = to.position; node != nullptr && count < open.size(); node = node->parent)
    if (node->begin == 0) open[count++] = node;
  while (count > 0) begin_instance(to, *open[--count], now);
}

void begin_again(Recorder &to) noexcept {
  if (to.position->begin == 0) enter(*to.position, ticks());
}

void end_all(Recorder &to, std::uint64_t now) noexcept {
  to.lost_regions = 0;
  while (to.position->parent != nullptr) leave(to, now); // their ends may come after MPI_Finalize
  if (to.position->begin != 0) finish_instance(to, *to.position, now);
  to.record->newest = now;
}

} // namespace haloscope::watch
