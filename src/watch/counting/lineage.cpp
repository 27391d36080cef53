#include "watch/counting/lineage.hpp"

#include <functional>

namespace haloscope::watch {

namespace {

constexpr std::uint64_t most_children = 1024, shared_children = 64;
constexpr std::uint32_t deepest_lineage = 64;
constexpr std::size_t most_orders = 4096;

// The number of a child: beyond the limit, numbers repeat.
constexpr std::uint64_t limited(std::uint64_t number) noexcept {
  return number <= most_children ? number : most_children + number % shared_children;
}

std::uint64_t identity_with(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ hash >> 31U;
}

} // namespace

Lineage Lineages::of(MPI_Comm comm) const {
  const auto found = known_.find(value_of(comm));
  if (found != known_.end()) return found->second;
  if (comm == MPI_COMM_WORLD) return {.identity = 1};
  if (comm == MPI_COMM_SELF) return {.identity = 2};
  return {.identity = 3, .is_unique = false};
}

void Lineages::adopt(MPI_Comm parent, MPI_Comm made, std::string_view how, MadeBy by) {
  Lineage lineage = of(parent);
  if (by == MadeBy::all) { // also those of its ranks that are in none
    known_.insert_or_assign(value_of(parent), lineage).first->second.made++;
    if (lineage.depth == deepest_lineage)
      lineage.identity = identity_with(5, std::hash<std::string_view>{}(how));
    lineage.identity = identity_with(lineage.identity, limited(lineage.made + 1));
    lineage.depth += lineage.depth < deepest_lineage ? 1 : 0;
  } else {
    lineage = {.identity = identity_with(4, static_cast<std::uint64_t>(by)), .is_unique = false};
  }
  lineage.made = 0;
  if (made != MPI_COMM_NULL) put(made, lineage);
}

std::uint64_t Lineages::identity(MPI_Comm comm, std::uint64_t members) {
  const Lineage lineage = of(comm);
  std::uint64_t identity = identity_with(identity_with(0, lineage.identity), members);
  if (!lineage.is_unique) {
    const auto found = alike_.find(identity);
    std::uint64_t number = 0;
    if (found != alike_.end())
      number = found->second++;
    else if (alike_.size() < most_orders)
      alike_[identity] = 1;
    identity = identity_with(identity, limited(number));
  }
  return identity >> 1U | 1U; // positive, and none is 0
}

} // namespace haloscope::watch
