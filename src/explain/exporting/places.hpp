// Ranks of communicators: which place a rank of the world has there.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "explain/exporting/columns.hpp"

namespace haloscope::exporting {

class Places {
public:
  explicit Places(const Members &members) {
    for (int64_t i = 0; i < members.count; ++i) {
      const int32_t communicator = members.communicator[i], rank = members.rank[i], place = members.place[i];
      known_.insert(communicator);
      if (communicator == 0 && rank == world_ && place == world_)
        ++world_;
      else if (rank >= 0)
        places_[key(communicator, rank)] = place;
    }
  }

  // Returns -1 where the communicator is not known, or does not have the rank.
  int32_t of(int32_t communicator, int32_t rank) const {
    if (communicator == 0 && rank >= 0 && rank < world_) return rank; // most are of MPI_COMM_WORLD
    const auto found = places_.find(key(communicator, rank));
    return found == places_.end() ? -1 : found->second;
  }

  bool knows(int32_t communicator) const { return known_.contains(communicator); }

private:
  static uint64_t key(int32_t communicator, int32_t rank) {
    return uint64_t{static_cast<uint32_t>(communicator)} << 32 | static_cast<uint32_t>(rank);
  }

  std::unordered_map<uint64_t, int32_t> places_;
  std::unordered_set<int32_t> known_;
  int32_t world_ = 0; // so many ranks of MPI_COMM_WORLD have their own place
};

} // namespace haloscope::exporting
