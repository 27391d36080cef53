#include "watch/counting/member_ranks.hpp"

#include "watch/counting/rank_lists.hpp"

namespace haloscope::watch {

void MemberRanks::start(MPI_Group world) {
  if (world_ != MPI_GROUP_NULL) real.Group_free(&world_);
  world_ = world;
}

std::vector<int> MemberRanks::of(MPI_Group group) const {
  int size = 0;
  real.Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> result(ranks.size());
  for (int i = 0; i < size; i++) ranks[static_cast<std::size_t>(i)] = i;
  if (size > 0) real.Group_translate_ranks(group, size, ranks.data(), world_, result.data());
  return result;
}

// Partners have one name per world rank. Communicators whose ranks equal the world ranks need no translation.
std::uint32_t MemberRanks::keep(std::uint64_t members, const std::vector<int> &ranks, MPI_Group group) {
  std::uint32_t id = 0;
  bool keep_group = false;
  if (!is_identity(ranks)) {
    const auto [place, fresh] = ids_.try_emplace(members, static_cast<std::uint32_t>(ids_.size()) + 1);
    id = place->second;
    keep_group = fresh && !has_sessions_;
    if (fresh) members_[id] = keep_group ? Members{group, {}} : Members{MPI_GROUP_NULL, ranks};
  }
  if (!keep_group) real.Group_free(&group);
  return id;
}

std::uint32_t MemberRanks::keep_brief(const Communicator &communicator, const std::vector<int> &ranks) {
  brief_[&communicator] = ranks;
  return is_identity(ranks) ? 0 : brief_id;
}

int MemberRanks::world_rank(const Communicator &communicator, int rank) const {
  if (communicator.id == 0) return rank;
  int result = MPI_UNDEFINED;
  if (communicator.brief) {
    const std::vector<int> &ranks = brief_.at(&communicator);
    // A request may be completed after its communicator, and find the next one.
    if (static_cast<std::size_t>(rank) < ranks.size()) result = ranks[static_cast<std::size_t>(rank)];
  } else if (const Members &members = members_.at(communicator.id); !members.ranks.empty()) {
    result = members.ranks.at(static_cast<std::size_t>(rank));
  } else {
    real.Group_translate_ranks(members.group, 1, &rank, world_, &result);
  }
  return result == MPI_UNDEFINED ? -1 : result;
}

} // namespace haloscope::watch
