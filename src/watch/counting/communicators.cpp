#include "watch/counting/communicators.hpp"

#include "watch/counting/lineage.hpp"
#include "watch/counting/member_ranks.hpp"
#include "watch/counting/neighbors.hpp"
#include "watch/counting/rank_lists.hpp"
#include "watch/counting/state.hpp"
#include "watch/records/own.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace haloscope::watch {

namespace {

struct Book {
  std::mutex mutex;
  std::map<std::uintptr_t, Communicator *> by_handle; // described when first used
  std::map<std::uintptr_t, std::string> names;
  std::map<std::uintptr_t, Neighbors> neighbors;
  Lineages lineages;
  std::map<std::tuple<std::uint64_t, std::string, std::uint64_t>, Communicator *> by_members;
  std::deque<Communicator *> ended_brief;
  const char *other_name = nullptr;
  MemberRanks ranks;
  std::size_t kept_ranks = 0; // in the arena
};
constexpr std::size_t most_kept_ranks = std::size_t{1} << 16U;
// Communicators with records of their own. After half of them, new names are no longer told apart.
constexpr std::size_t most_records = 2048;
constexpr std::size_t longest_name = 128; // of one that is named after its parents
// A brief record is not used again before this many others, as requests may outlive their communicator.
constexpr std::size_t quarantine = 64;

Book &book() { return own<Book>(); }

const char *copy_text(const std::string &text) {
  auto *copy = static_cast<char *>(global().arena.allocate(text.size() + 1));
  return copy == nullptr ? "" : std::strcpy(copy, text.c_str());
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

// With a trace, the identity is unique per communicator. Without a trace it is 0: communicators with the same
// members and name are one.
std::uint64_t identity_of(Book &of, MPI_Comm comm, std::uint64_t members, bool inter) {
  if (!global().process->trace.wanted) return 0;
  std::uint64_t all = members;
  if (inter) { // both sides call it the same
    MPI_Group group = MPI_GROUP_NULL;
    real.Comm_group(comm, &group);
    all ^= hash_members(book().ranks.of(group), true);
    real.Group_free(&group);
  }
  return of.lineages.identity(comm, all);
}

// A record for one of too many communicators: it is used again when the communicator has ended.
Communicator *take_brief(Book &of) {
  if (of.ended_brief.size() <= quarantine) return global().arena.make<Communicator>();
  Communicator *record = of.ended_brief.front();
  of.ended_brief.pop_front();
  return record;
}

// What both kinds of records have.
void fill(Communicator &record, MPI_Comm comm, const std::vector<int> &ranks, bool inter) {
  int size = 0;
  int rank = 0;
  real.Comm_size(comm, &size);
  real.Comm_rank(comm, &rank);
  record.number = static_cast<std::uint32_t>(
      (reinterpret_cast<const std::byte *>(&record) - global().arena.base()) / communicator_alignment);
  record.size = static_cast<std::uint32_t>(size);
  record.remote_size = inter ? static_cast<std::uint32_t>(ranks.size()) : 0;
  record.rank = rank;
  record.inter = inter;
}

Communicator *describe_brief(Book &of, MPI_Comm comm, const std::vector<int> &ranks, bool inter) {
  Communicator *record = take_brief(of);
  if (record == nullptr) return nullptr;
  fill(*record, comm, ranks, inter);
  record->brief = true;
  record->id = of.ranks.keep_brief(*record, ranks);
  if (of.other_name == nullptr) of.other_name = copy_text(other_communicators);
  record->name = of.other_name;
  return record;
}

// Takes the group.
Communicator *describe(Book &of, MPI_Comm comm, std::string name) {
  int inter = 0;
  real.Comm_test_inter(comm, &inter);
  MPI_Group group = MPI_GROUP_NULL;
  if (inter != 0)
    real.Comm_remote_group(comm, &group);
  else
    real.Comm_group(comm, &group);
  const std::vector<int> ranks = book().ranks.of(group);
  const std::uint64_t members = hash_members(ranks, inter != 0);
  const std::uint64_t identity = identity_of(of, comm, members, inter != 0);
  const auto find = [&] {
    const auto found = of.by_members.find({members, name, identity});
    return found == of.by_members.end() ? nullptr : found->second;
  };
  Communicator *record = find(); // same members, same name: the same row
  if (record == nullptr && of.by_members.size() >= most_records / 2) {
    name = other_communicators;
    record = find();
  }
  const bool is_brief =
      record == nullptr && (of.by_members.size() >= most_records || !global().arena.allows_details());
  if (record != nullptr || is_brief) {
    real.Group_free(&group);
    return record != nullptr ? record : describe_brief(of, comm, ranks, inter != 0);
  }
  record = global().arena.make<Communicator>();
  if (record == nullptr) return nullptr; // and the group is lost, once
  fill(*record, comm, ranks, inter != 0);
  record->id = of.ranks.keep(members, ranks, group);
  record->members = members;
  record->identity = identity;
  keep_ranks(of, *record, ranks);
  record->name = copy_text(name);
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
  if (known != nullptr && !known->inter && !of.neighbors.contains(value_of(comm)) && has_topology(comm))
    of.neighbors[value_of(comm)] = read_neighbors(comm);
  return known;
}

// The handle means something else from now on.
void forget(Book &of, MPI_Comm comm) {
  const auto known = of.by_handle.find(value_of(comm));
  if (known != of.by_handle.end()) {
    if (known->second->brief) of.ended_brief.push_back(known->second);
    of.by_handle.erase(known);
  }
  of.names.erase(value_of(comm));
  of.neighbors.erase(value_of(comm));
  of.lineages.forget(comm);
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
  const Neighbors *neighbors = nullptr;
  {
    const std::lock_guard lock{book().mutex};
    known = find_or_describe(book(), comm);
    const auto found = book().neighbors.find(value_of(comm));
    if (found != book().neighbors.end()) neighbors = &found->second;
  }
  CommunicatorUse *use = known == nullptr ? nullptr : use_of(state, known);
  if (use == nullptr) {
    state.dropped();
    return nullptr;
  }
  const std::uintptr_t value = value_of(comm);
  state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached] = {comm, use, neighbors};
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
  return book().ranks.world_rank(communicator, rank);
}

bool is_inside_world(MPI_Comm comm) noexcept {
  const auto is_inside = [&](auto group_of) {
    MPI_Group group = MPI_GROUP_NULL;
    group_of(comm, &group);
    const std::vector<int> ranks = book().ranks.of(group);
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
  std::string name = name_of(book(), parent);
  if (name.size() < longest_name) name += std::string{"/"} + how;
  if (made != MPI_COMM_NULL) forget(book(), made);
  book().lineages.adopt(parent, made, how, by);
  if (made != MPI_COMM_NULL) book().names[value_of(made)] = name;
}

void rename_communicator(MPI_Comm comm, const char *name) noexcept {
  const std::lock_guard lock{book().mutex};
  const Lineage lineage = book().lineages.of(comm);
  auto neighbors = book().neighbors.extract(value_of(comm)); // other threads may use them now
  forget(book(), comm);
  book().neighbors.insert(std::move(neighbors));
  book().names[value_of(comm)] = name;
  book().lineages.put(comm, lineage);
}

void forget_communicator(MPI_Comm comm) noexcept {
  const std::lock_guard lock{book().mutex};
  forget(book(), comm);
}

void start_communicators(MPI_Group world) noexcept {
  const std::lock_guard lock{book().mutex};
  book().ranks.start(world);
}

void expect_sessions() noexcept {
  const std::lock_guard lock{book().mutex};
  book().ranks.expect_sessions();
}

} // namespace haloscope::watch
