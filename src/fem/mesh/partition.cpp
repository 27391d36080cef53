// The begins of the ranks' shares. A cut between two leaves splits all their common ancestors, which can then
// never become leaves. So a cut should be where the smallest common ancestor is many levels above the leaves.
#include "fem/mesh/forest.hpp"

#include <p8est.h>
#include <p8est_algorithms.h>
#include <p8est_communication.h>

#include <algorithm>
#include <bit>

namespace haloscope::fem {

namespace {

// Returns for how many coarsenings a cut between neighbouring leaves is in no element's way.
int depth(const Leaf &before, const Leaf &after) {
  if (before.tree != after.tree) return root_bits;
  const auto different =
      static_cast<unsigned>((before.x ^ after.x) | (before.y ^ after.y) | (before.z ^ after.z));
  const int common = root_bits - static_cast<int>(std::bit_width(different));
  return std::max(before.level, after.level) - common - 1;
}

// The last leaf before this rank's; its tree is −1 if there is none.
Leaf last_before(MPI_Comm communicator, std::span<const Leaf> leaves) {
  int rank = 0, size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const Leaf none{-1, 0, 0, 0, 0};
  const Leaf mine = leaves.empty() ? none : leaves.back();
  std::vector<Leaf> all(static_cast<std::size_t>(size), none);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator);
  while (rank-- > 0)
    if (const Leaf &leaf = all[static_cast<std::size_t>(rank)]; leaf.tree >= 0) return leaf;
  return none;
}

std::int64_t largest(const std::vector<std::int64_t> &cuts) {
  std::int64_t largest = 0;
  for (std::size_t i = 1; i < cuts.size(); i++) largest = std::max(largest, cuts[i] - cuts[i - 1]);
  return largest;
}

} // namespace

// Each rank looks among its own leaves for the possible cuts next to each ideal one.
std::vector<std::int64_t> Forest::cuts(int levels) const {
  const auto ranks = static_cast<std::size_t>(forest_->mpisize);
  const std::int64_t count = all_elements();
  std::vector<std::int64_t> possible{};
  Leaf before = last_before(communicator(), leaves_);
  for (std::size_t i = 0; i < leaves_.size(); i++) {
    if (before.tree < 0 || depth(before, leaves_[i]) >= levels)
      possible.push_back(first() + static_cast<std::int64_t>(i));
    before = leaves_[i];
  }

  std::vector<std::int64_t> ideal(ranks + 1), below(ranks + 1, 0), above(ranks + 1, count);
  for (std::size_t rank = 0; rank <= ranks; rank++) {
    ideal[rank] = count * static_cast<std::int64_t>(rank) / static_cast<std::int64_t>(ranks);
    const auto next = std::ranges::lower_bound(possible, ideal[rank]);
    if (next != possible.end()) above[rank] = *next;
    if (next != possible.begin()) below[rank] = *std::prev(next);
  }
  const int size = static_cast<int>(ranks + 1);
  MPI_Allreduce(MPI_IN_PLACE, below.data(), size, MPI_INT64_T, MPI_MAX, communicator());
  MPI_Allreduce(MPI_IN_PLACE, above.data(), size, MPI_INT64_T, MPI_MIN, communicator());
  for (std::size_t rank = 0; rank <= ranks; rank++)
    ideal[rank] = ideal[rank] - below[rank] < above[rank] - ideal[rank] ? below[rank] : above[rank];
  ideal.back() = count;
  return ideal;
}

void Forest::partition(int aligned_levels) {
  const std::vector<std::int64_t> wanted = cuts(aligned_levels);
  std::vector<p4est_locidx_t> counts(wanted.size() - 1);
  for (std::size_t i = 0; i < counts.size(); i++)
    counts[i] = static_cast<p4est_locidx_t>(wanted[i + 1] - wanted[i]);
  p8est_partition_given(forest_.get(), counts.data());
  read();
}

int Forest::alignment(double imbalance) const {
  int levels = 0;
  for (const Leaf &leaf : leaves_) levels = std::max<int>(levels, leaf.level);
  MPI_Allreduce(MPI_IN_PLACE, &levels, 1, MPI_INT, MPI_MAX, communicator());
  const auto least = static_cast<double>(largest(cuts(0)));
  while (levels > 0 && static_cast<double>(largest(cuts(levels))) > imbalance * least) levels--;
  return levels;
}

double Forest::imbalance() const {
  auto most = static_cast<std::int64_t>(elements());
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, communicator());
  return static_cast<double>(most) * forest_->mpisize / static_cast<double>(all_elements());
}

} // namespace haloscope::fem
