// Ranks and tags of a live record as JSON: what MPI's own numbers mean, and world ranks.
#pragma once

#include "watch/records/json.hpp"
#include "watch/records/reading.hpp"
#include "watch/records/recorder.hpp"

#include <mpi.h>

namespace haloscope::watch {

class LiveJson : protected Reading {
public:
  using Reading::Reading;

protected:
  // A rank as the communicator calls it, as a world rank.
  void put_rank(Json &json, std::int32_t rank, const Communicator *used) const {
    if (rank == MPI_ANY_SOURCE)
      json.string("any");
    else if (rank < 0)
      json.null();
    else
      json.number(std::int64_t{used == nullptr ? rank : world_rank_of(*used, rank)});
  }
  static void put_tag(Json &json, std::int32_t tag) {
    if (tag == MPI_ANY_TAG)
      json.string("any");
    else if (tag < 0)
      json.null();
    else
      json.number(std::int64_t{tag});
  }

private:
  std::int32_t world_rank_of(const Communicator &used, std::int32_t rank) const {
    const std::uint32_t count = used.inter ? used.remote_size : used.size;
    if (used.id == 0 || static_cast<std::uint32_t>(rank) >= count) return rank;
    if (used.ranks == nullptr) return used.first_rank + rank * used.stride;
    return valid(used.ranks, count) == nullptr ? rank : used.ranks[rank];
  }
};

} // namespace haloscope::watch
