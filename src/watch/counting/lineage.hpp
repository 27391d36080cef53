// The origin of communicators: what identifies one in the traces of all its ranks.
#pragma once

#include "watch/counting/communicators.hpp"

#include <cstdint>
#include <map>
#include <string_view>

namespace haloscope::watch {

// The origin of a communicator, the same on all its ranks: several communicators from one parent are made in
// one order. `is_unique`: the order identifies it. It does not if the ranks that made it have made others
// with different ranks.
struct Lineage {
  std::uint64_t identity = 0;
  std::uint64_t made = 0;  // of it
  std::uint32_t depth = 0; // of the tree of parents
  bool is_unique = true;
};

// The lineages of the live communicators. Not safe for threads.
//
// A program may make any number of communicators. After many from one parent, or in a long line of parents,
// new ones get identities of earlier ones, in turn. All ranks count alike, so they agree; messages are mixed
// up only if several of these are in use at once.
class Lineages {
public:
  // Communicators that `parent` makes by a function of this name. `made` is none for ranks that are not in
  // it.
  void adopt(MPI_Comm parent, MPI_Comm made, std::string_view how, MadeBy by);
  // That of one of MPI's own communicators, or of unknown origin, if it was not adopted.
  [[nodiscard]] Lineage of(MPI_Comm comm) const;
  void put(MPI_Comm comm, const Lineage &lineage) { known_[value_of(comm)] = lineage; }
  void forget(MPI_Comm comm) { known_.erase(value_of(comm)); }
  // The identity of a communicator with these members; positive.
  std::uint64_t identity(MPI_Comm comm, std::uint64_t members);

private:
  std::map<std::uintptr_t, Lineage> known_;
  std::map<std::uint64_t, std::uint64_t>
      alike_; // how many there are of one identity that order does not tell
};

} // namespace haloscope::watch
