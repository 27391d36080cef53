// From the ranks of communicators to world ranks.
#pragma once

#include "watch/counting/communicators.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace haloscope::watch {

// Not safe for threads.
class MemberRanks {
public:
  // Sets the group whose ranks are world ranks; takes it.
  void start(MPI_Group world);
  // From now on, groups may end with a session, and are not kept.
  void expect_sessions() noexcept { has_sessions_ = true; }
  // The world ranks of a group's ranks, in order.
  [[nodiscard]] std::vector<int> of(MPI_Group group) const;
  // The name of these members in partners' names, by the members' hash; 0 if their ranks are world ranks.
  // Takes the group.
  std::uint32_t keep(std::uint64_t members, const std::vector<int> &ranks, MPI_Group group);
  // The same for a communicator whose record is used again for another one.
  std::uint32_t keep_brief(const Communicator &communicator, const std::vector<int> &ranks);
  // -1 outside this world.
  [[nodiscard]] int world_rank(const Communicator &communicator, int rank) const;

private:
  // World ranks, in the order of a communicator's ranks (of its remote group, if it has one). A group costs
  // nothing, but those of sessions end with them.
  struct Members {
    MPI_Group group;
    std::vector<int> ranks;
  };
  MPI_Group world_ = MPI_GROUP_NULL;
  bool has_sessions_ = false;
  std::map<std::uint64_t, std::uint32_t> ids_; // by members alone
  std::map<std::uint32_t, Members> members_;   // by id
  std::map<const Communicator *, std::vector<int>> brief_;
};

} // namespace haloscope::watch
