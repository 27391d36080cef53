// The reduction at MPI_Finalize: up a binomial tree of ranks, in about log2(ranks) steps.
//
// Each rank holds at most its own contents, one block of a child's, and `block_bytes` of merged rows per
// table. Tables with a row per rank and region do not get smaller by merging. Their blocks are passed on one
// by one, and rank 0 appends them to the file.
#pragma once

#include "watch/collecting/channel.hpp"
#include "watch/collecting/tables.hpp"

#include <mpi.h>

#include <cstddef>
#include <functional>

namespace haloscope::watch {

inline constexpr std::size_t block_bytes = std::size_t{4} << 20U;

// Collective over `comm`. On rank 0 only, `store` is called for each block of rows, then `finish`, which
// says whether the file is whole. Returns that on all ranks. Throws LateRank after `patience` seconds in
// which a rank did not answer.
bool reduce(MPI_Comm comm, double patience, Contents &mine,
            const std::function<void(TableId, const Table &)> &store,
            const std::function<bool(const Names &)> &finish);

} // namespace haloscope::watch
