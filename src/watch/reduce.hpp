// The reduction at MPI_Finalize: up a binomial tree of ranks, in about log2(ranks) steps.
//
// No rank ever holds more than its own contents, one block of another's and `block_bytes` of merged
// rows a table: tables whose rows do not collapse (a row a rank and region) are handed on, block by
// block, and rank 0 appends them to the file.
#pragma once

#include "tables.hpp"

#include <mpi.h>

#include <cstddef>
#include <functional>

namespace haloscope::watch {

inline constexpr std::size_t block_bytes = std::size_t{4} << 20U;

// Collective over `comm`. `store` is called on rank 0 only, for each block of rows, and may throw
// there; the others are then still served. Returns the names, on all ranks.
Names reduce(MPI_Comm comm, Contents &mine, const std::function<void(TableId, const Table &)> &store);

} // namespace haloscope::watch
