#include "watch/counting/communicators.hpp"

#include "watch/counting/neighbors.hpp"
#include "watch/counting/rank_lists.hpp"
#include "watch/counting/state.hpp"
#include "watch/records/own.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace haloscope::watch {

namespace {

// World ranks, in the order of a communicator's ranks (of its remote group, if it has one). A group
// costs nothing, but those of sessions end with them.
struct Members {
  MPI_Group group;
  std::vector<int> ranks;
};

// The origin of a communicator, the same on all its ranks: several communicators from one parent are made in
// one order. `is_unique`: the order identifies it. It does not if the ranks that made it have made others
// with different ranks.
struct Lineage {
  std::uint64_t identity = 0;
  std::uint64_t made = 0; // of it
  bool is_unique = true;
};

struct Book {
  std::mutex mutex;
  std::map<std::uintptr_t, Communicator *> by_handle; // described when first used
  std::map<std::uintptr_t, std::string> names;
  std::map<std::uintptr_t, Lineage> lineages;
  std::map<std::uint64_t, std::uint64_t> alike; // how many there are of one identity that order does not tell
  std::map<std::tuple<std::uint64_t, std::string, std::uint64_t>, Communicator *> by_members;
  std::map<std::uint64_t, std::uint32_t> ids; // by members alone
  std::map<std::uint32_t, Members> members;   // by id
  MPI_Group world = MPI_GROUP_NULL;
  bool has_sessions = false;
  std::size_t kept_ranks = 0; // in the arena
};
constexpr std::size_t most_kept_ranks = std::size_t{1} << 16U;

Book &book() { return own<Book>(); }

std::vector<int> world_ranks(MPI_Group group) {
  int size = 0;
  real.Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> result(ranks.size());
  for (int i = 0; i < size; i++) ranks[static_cast<std::size_t>(i)] = i;
  if (size > 0) real.Group_translate_ranks(group, size, ranks.data(), book().world, result.data());
  return result;
}

const char *copy_text(const std::string &text) {
  auto *copy = static_cast<char *>(global().arena.allocate(text.size() + 1));
  return copy == nullptr ? "" : std::strcpy(copy, text.c_str());
}

// Partners have one name per world rank. Communicators whose ranks equal the world ranks need no translation.
// Takes the group.
std::uint32_t partner_id(Book &of, std::uint64_t members, const std::vector<int> &ranks, MPI_Group group) {
  std::uint32_t id = 0;
  bool keep_group = false;
  if (!is_identity(ranks)) {
    const auto [place, fresh] = of.ids.try_emplace(members, static_cast<std::uint32_t>(of.ids.size()) + 1);
    id = place->second;
    keep_group = fresh && !of.has_sessions;
    if (fresh) of.members[id] = keep_group ? Members{group, {}} : Members{MPI_GROUP_NULL, ranks};
  }
  if (!keep_group) real.Group_free(&group);
  return id;
}

// Stores ranks for readers of the records. Most communicators are rows, columns or planes of ranks.
void keep_ranks(Book &of, Communicator &record, const std::vector<int> &ranks) {
  if (record.id == 0 || ranks.empty()) return;
  record.first_rank = ranks[0];
  if (const std::optional<int> stride = even_stride(ranks)) {
    record.stride = *stride;
  } else if (of.kept_ranks + ranks.size() <= most_kept_ranks) {
    std::uint32_t count = 0;
    record.ranks = store_ranks(ranks, count);
    of.kept_ranks += count;
    if (count == 0) record.ranks = nullptr;
  }
}

// One of MPI's own communicators, or a communicator of unknown origin.
Lineage lineage_of(const Book &of, MPI_Comm comm) {
  const auto found = of.lineages.find(value_of(comm));
  if (found != of.lineages.end()) return found->second;
  if (comm == MPI_COMM_WORLD) return {.identity = 1};
  if (comm == MPI_COMM_SELF) return {.identity = 2};
  return {.identity = 3, .is_unique = false};
}

std::uint64_t identity_with(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ hash >> 31U;
}

// With a trace, the identity is unique per communicator. Without a trace it is 0: communicators with the same
// members and name are one.
std::uint64_t identity_of(Book &of, MPI_Comm comm, std::uint64_t members, bool inter) {
  if (!global().process->trace.wanted) return 0;
  const Lineage lineage = lineage_of(of, comm);
  std::uint64_t all = members;
  if (inter) { // both sides call it the same
    MPI_Group group = MPI_GROUP_NULL;
    real.Comm_group(comm, &group);
    all ^= hash_members(world_ranks(group), true);
    real.Group_free(&group);
  }
  std::uint64_t identity = identity_with(identity_with(0, lineage.identity), all);
  if (!lineage.is_unique) identity = identity_with(identity, of.alike[identity]++);
  return identity >> 1U | 1U; // positive, and none is 0
}

Communicator *describe(Book &of, MPI_Comm comm, const std::string &name) {
  int inter = 0;
  real.Comm_test_inter(comm, &inter);
  MPI_Group group = MPI_GROUP_NULL;
  if (inter != 0)
    real.Comm_remote_group(comm, &group);
  else
    real.Comm_group(comm, &group);
  const std::vector<int> ranks = world_ranks(group);
  const std::uint64_t members = hash_members(ranks, inter != 0);
  const std::uint64_t identity = identity_of(of, comm, members, inter != 0);
  const auto found = of.by_members.find({members, name, identity});
  if (found != of.by_members.end() && found->second->out_degree == 0) {
    // Same members, same name: the same row.
    if (topology_of(comm) == MPI_UNDEFINED) {
      real.Group_free(&group);
      return found->second;
    }
  }
  auto *record = global().arena.make<Communicator>();
  if (record == nullptr) return nullptr; // and the group is lost, once
  int size = 0;
  int rank = 0;
  real.Comm_size(comm, &size);
  real.Comm_rank(comm, &rank);
  record->number = static_cast<std::uint32_t>(
      (reinterpret_cast<const std::byte *>(record) - global().arena.base()) / communicator_alignment);
  record->id = partner_id(of, members, ranks, group);
  record->size = static_cast<std::uint32_t>(size);
  record->remote_size = inter != 0 ? static_cast<std::uint32_t>(ranks.size()) : 0;
  record->rank = rank;
  record->inter = inter != 0;
  record->members = members;
  record->identity = identity;
  keep_ranks(of, *record, ranks);
  record->name = copy_text(name);
  if (inter == 0) read_topology(comm, *record);
  of.by_members[{members, name, identity}] = record;
  return record;
}

// MPI's own, one that was seen being made, or one made by a function of a later standard.
std::string name_of(const Book &of, MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return "MPI_COMM_WORLD";
  if (comm == MPI_COMM_SELF) return "MPI_COMM_SELF";
  const auto found = of.names.find(value_of(comm));
  return found == of.names.end() ? "communicator" : found->second;
}

Communicator *find_or_describe(Book &of, MPI_Comm comm) {
  const auto found = of.by_handle.find(value_of(comm));
  if (found != of.by_handle.end()) return found->second;
  Communicator *known = describe(of, comm, name_of(of, comm));
  if (known != nullptr) of.by_handle[value_of(comm)] = known;
  return known;
}

// The handle means something else from now on.
void forget(Book &of, MPI_Comm comm) {
  of.by_handle.erase(value_of(comm));
  of.names.erase(value_of(comm));
  of.lineages.erase(value_of(comm));
  change_handles();
}

CommunicatorUse *use_of(const ThreadState &state, Communicator *communicator) {
  for (CommunicatorUse *use = state.record->communicators; use != nullptr; use = use->next)
    if (use->communicator == communicator) return use;
  auto *use = state.arena->make<CommunicatorUse>();
  if (use == nullptr) return nullptr;
  use->communicator = communicator;
  use->next = state.record->communicators;
  std::atomic_signal_fence(std::memory_order_release);
  state.record->communicators = use;
  return use;
}

} // namespace

CommunicatorUse *look_up_communicator(ThreadState &state, MPI_Comm comm) noexcept {
  // A null handle is the program's error: MPI will say so, we must not ask about it.
  if (comm == MPI_COMM_NULL) return nullptr;
  Communicator *known = nullptr;
  {
    const std::lock_guard lock{book().mutex};
    known = find_or_describe(book(), comm);
  }
  CommunicatorUse *use = known == nullptr ? nullptr : use_of(state, known);
  if (use == nullptr) {
    state.dropped();
    return nullptr;
  }
  const std::uintptr_t value = value_of(comm);
  state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached] = {comm, use};
  return use;
}

bool is_known_communicator(MPI_Comm comm) noexcept {
  if (comm == MPI_COMM_NULL) return false;
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) return true;
  const std::lock_guard lock{book().mutex};
  return book().by_handle.contains(value_of(comm)) || book().names.contains(value_of(comm));
}

int world_rank(const Communicator &communicator, int rank) noexcept {
  if (communicator.id == 0) return rank;
  const std::lock_guard lock{book().mutex};
  const Members &members = book().members[communicator.id];
  int result = MPI_UNDEFINED;
  if (!members.ranks.empty())
    result = members.ranks.at(static_cast<std::size_t>(rank));
  else
    real.Group_translate_ranks(members.group, 1, &rank, book().world, &result);
  return result == MPI_UNDEFINED ? -1 : result;
}

bool is_inside_world(MPI_Comm comm) noexcept {
  const auto is_inside = [&](auto group_of) {
    MPI_Group group = MPI_GROUP_NULL;
    group_of(comm, &group);
    const std::vector<int> ranks = world_ranks(group);
    real.Group_free(&group);
    return std::ranges::find(ranks, MPI_UNDEFINED) == ranks.end();
  };
  const std::lock_guard lock{book().mutex};
  int inter = 0;
  real.Comm_test_inter(comm, &inter);
  return is_inside(real.Comm_group) && (inter == 0 || is_inside(real.Comm_remote_group));
}

void adopt_communicator(MPI_Comm parent, MPI_Comm made, const char *how, MadeBy by) noexcept {
  const std::lock_guard lock{book().mutex};
  Lineage lineage = lineage_of(book(), parent);
  if (by == MadeBy::all) { // also those of its ranks that are in none
    book().lineages.insert_or_assign(value_of(parent), lineage).first->second.made++;
    lineage.identity = identity_with(lineage.identity, lineage.made + 1);
  } else {
    lineage = {.identity = identity_with(4, static_cast<std::uint64_t>(by)), .is_unique = false};
  }
  lineage.made = 0;
  if (made == MPI_COMM_NULL) return;
  const std::string name = name_of(book(), parent) + "/" + how;
  forget(book(), made);
  book().names[value_of(made)] = name;
  book().lineages[value_of(made)] = lineage;
}

void rename_communicator(MPI_Comm comm, const char *name) noexcept {
  const std::lock_guard lock{book().mutex};
  const Lineage lineage = lineage_of(book(), comm);
  forget(book(), comm);
  book().names[value_of(comm)] = name;
  book().lineages[value_of(comm)] = lineage;
}

void forget_communicator(MPI_Comm comm) noexcept {
  const std::lock_guard lock{book().mutex};
  forget(book(), comm);
}

void start_communicators(MPI_Group world) noexcept {
  const std::lock_guard lock{book().mutex};
  if (book().world != MPI_GROUP_NULL) real.Group_free(&book().world);
  book().world = world;
}

void expect_sessions() noexcept {
  const std::lock_guard lock{book().mutex};
  book().has_sessions = true;
}

} // namespace haloscope::watch
