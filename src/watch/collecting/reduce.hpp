// The reduction at MPI_Finalize: up a binomial tree of ranks, in about log2(ranks) steps.
//
// No rank ever holds more than its own contents, one block of another's and `block_bytes` of merged
// rows a table: tables whose rows do not collapse (a row a rank and region) are handed on, block by
// block, and rank 0 appends them to the file.
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
