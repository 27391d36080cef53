// Regions: the tree of paths a thread walks through.
//
// Budget of an empty region, begin and end: two stamps, one comparison of the name with the child
// entered last, about thirty loads and adds: under 1.6 clock_gettime.
#include "recording.hpp"
#include "series.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace haloscope::watch {

namespace {

std::vector<std::string> &series_regions() {
  static std::vector<std::string> regions;
  return regions;
}

std::uint64_t hash_of_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U; // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  return hash == 0 ? 1 : hash;
}

bool is_path_of(std::string_view wanted, const Node &node) noexcept {
  const std::string_view name{node.name};
  if (wanted == name) return true;
  if (!wanted.ends_with(name) || node.parent == nullptr) return false;
  wanted.remove_suffix(name.size());
  return wanted.ends_with('/') && is_path_of(wanted.substr(0, wanted.size() - 1), *node.parent);
}

bool wants_series(const Node &node) noexcept {
  return std::ranges::any_of(series_regions(),
                             [&](const std::string &wanted) { return is_path_of(wanted, node); });
}

const char *copy_name(Arena &arena, const char *name) noexcept {
  const std::size_t bytes = std::strlen(name) + 1;
  auto *copy = static_cast<char *>(arena.allocate(bytes));
  if (copy != nullptr) std::memcpy(copy, name, bytes);
  return copy;
}

[[gnu::noinline]] Node *make_child(const Recorder &to, Node &parent, const char *name,
                                   bool communication) noexcept {
  if (parent.depth == deepest_region) {
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
  node->communication = communication;
  node->depth = parent.depth + 1;
  node->series = wants_series(*node);
  node->same_hash = entry->node;
  entry->node = node;
  std::atomic_signal_fence(std::memory_order_release);
  (parent.last_child == nullptr ? parent.first_child : parent.last_child->next_sibling) = node;
  parent.last_child = node;
  return node;
}

[[gnu::noinline]] Node *find_child(Recorder &to, Node &parent, const char *name,
                                   bool communication) noexcept {
  if (NodeName *entry = parent.child_names.find(hash_of_name(name)))
    for (Node *node = entry->node; node != nullptr; node = node->same_hash)
      if (std::strcmp(node->name, name) == 0) return node;
  return make_child(to, parent, name, communication);
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

void enter(Node &node, std::uint64_t now) noexcept {
  node.instance++;
  node.begin = now;
  node.wait_before = node.wait_ticks;
  node.nested = {};
  node.had_nested = false;
}

// Adds a finished instance, in which something happened or whose like was not there before.
[[gnu::noinline]] void add_instance(Node &node, const Quantities &own) noexcept {
  Quantities whole = node.nested;
  for (unsigned q = 0; q < additive_quantities; q++) whole[q] += own[q];
  // Most instances are like the one before: then their extremes are known.
  if (node.instances == 0 || node.had_nested || own != node.last) {
    widen(node.exclusive, own, node.instances == 0);
    widen(node.inclusive, whole, node.instances == 0);
    // Only an instance with nothing nested is described by `own` alone.
    node.last = own;
    if (node.had_nested) node.last[sends] = ~std::uint64_t{0};
  }
  node.before = node.now;
  if (Node *parent = node.parent) {
    parent->had_nested = true;
    for (unsigned q = 0; q < additive_quantities; q++) parent->nested[q] += whole[q];
  }
}

void finish_instance(const Recorder &to, Node &node, std::uint64_t end) noexcept {
  Quantities own;
  std::uint64_t difference = 0;
  std::uint64_t any = 0;
  for (unsigned q = 0; q < quantities; q++) {
    own[q] = node.now[q] - node.before[q];
    difference |= own[q] ^ node.last[q];
    any |= own[q];
  }
  if ((difference | any) != 0 || node.had_nested || node.instances == 0) add_instance(node, own);
  node.instances++;
  const std::uint64_t duration = end - node.begin;
  node.ticks += duration;
  if (__builtin_expect(node.series, 0)) {
    if (node.series_end == 0) node.series_end = to.process->first.tick;
    const std::uint64_t packed =
        pack_instance(node.series_end, node.begin, duration, node.wait_ticks - node.wait_before);
    if (!node.instance_list.append(packed, *to.arena)) to.dropped();
  }
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
  if (!to.paused) to.node = to.position;
}

} // namespace

void set_series(const char *regions) noexcept {
  std::string_view rest{regions};
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) series_regions().emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Node *make_root(Arena &arena, const char *name) noexcept {
  auto *root = arena.make<Node>();
  const char *copy = copy_name(arena, name);
  if (root == nullptr || copy == nullptr) return nullptr;
  root->name = copy;
  enter(*root, ticks());
  return root;
}

void begin_region(Recorder &to, const char *name, bool communication) noexcept {
  if (__builtin_expect(to.lost_regions > 0, 0)) { // nothing inside is kept either: ends go by number
    to.lost_regions++;
    to.dropped();
    return;
  }
  Node &parent = *to.position;
  Node *node = parent.recent;
  if (node == nullptr || std::strcmp(node->name, name) != 0) {
    node = find_child(to, parent, name, communication);
    if (node == nullptr) {
      to.lost_regions++;
      return;
    }
    parent.recent = node;
  }
  node->communication |= communication;
  to.position = node;
  if (to.paused) {
    node->begin = 0;
    return;
  }
  to.node = node;
  enter(*node, ticks());
}

void end_region(Recorder &to, const char *name) noexcept {
  const std::uint64_t now = ticks();
  if (to.lost_regions > 0) {
    to.lost_regions--;
    return;
  }
  Node *match = to.position;
  while (match->parent != nullptr && std::strcmp(match->name, name) != 0) match = match->parent;
  if (match->parent == nullptr) {
    to.record->unmatched_ends++;
    return;
  }
  while (to.position != match) {
    to.record->unmatched_begins++;
    leave(to, now);
  }
  leave(to, now);
  to.record->newest = now;
}

void record_value(Recorder &to, const char *name, double value) noexcept {
  Node &node = *to.position;
  if (to.paused || !node.series) return;
  const char *copy = known_value_name(node, name);
  if (copy == nullptr) copy = copy_name(*to.arena, name);
  if (copy == nullptr || !node.value_list.append({copy, node.instance - 1, value}, *to.arena)) to.dropped();
}

void pause(Recorder &to, bool paused) noexcept {
  if (paused == to.paused) return;
  to.paused = paused;
  to.node = paused ? to.discard : to.position;
}

void begin_again(Recorder &to) noexcept {
  if (to.position->begin == 0) enter(*to.position, ticks());
}

void end_all(Recorder &to) noexcept {
  const std::uint64_t now = ticks();
  to.lost_regions = 0;
  while (to.position->parent != nullptr) {
    to.record->unmatched_begins++;
    leave(to, now);
  }
  if (to.position->begin != 0) finish_instance(to, *to.position, now);
  to.record->newest = now;
}

} // namespace haloscope::watch
