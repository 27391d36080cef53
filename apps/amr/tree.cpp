#include "tree.hpp"

#include <algorithm>

namespace amr {

namespace {

std::uint64_t packed(const Place &place) {
  auto key = static_cast<std::uint64_t>(place.level);
  for (const int c : place.at) key = key << Tree::bits | static_cast<std::uint64_t>(c);
  return key;
}

// Along the curve: the bits of the coordinates in turn.
std::uint64_t morton(Int3 at) {
  std::uint64_t key = 0;
  for (int bit = Tree::bits - 1; bit >= 0; --bit)
    for (const std::size_t axis : {2, 1, 0})
      key = key << 1 | (static_cast<std::uint64_t>(at[axis]) >> bit & 1);
  return key;
}

} // namespace

Place Place::child(int which) const {
  return {level + 1, {2 * at[0] + (which & 1), 2 * at[1] + (which >> 1 & 1), 2 * at[2] + (which >> 2)}};
}

Place Place::beside(int axis, int side) const {
  Place place = *this;
  place.at[index(axis)] += side == 0 ? -1 : 1;
  return place;
}

Tree::Tree(Int3 roots, std::vector<Leaf> leaves) : roots_(roots), leaves_(std::move(leaves)) {
  index_.reserve(leaves_.size());
  for (int n = 0; n < size(); ++n) index_.emplace(packed(leaves_[index(n)].place), n);
}

int Tree::find(const Place &place) const {
  const auto found = index_.find(packed(place));
  return found == index_.end() ? -1 : found->second;
}

bool Tree::inside(const Place &place) const {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (place.at[axis] < 0 || place.at[axis] >= roots_[axis] << place.level) return false;
  return true;
}

Neighbours Tree::neighbours(int leaf, int axis, int side) const {
  const Place place = leaves_[index(leaf)].place.beside(axis, side);
  if (!inside(place)) return {};
  if (const int same = find(place); same >= 0) return {Relation::same, {same}};
  if (place.level > 0)
    if (const int coarser = find(place.parent()); coarser >= 0) return {Relation::coarser, {coarser}};
  Neighbours finer{Relation::finer, {}};
  for (int which = 0; which < 8; ++which)
    if ((which >> axis & 1) != side) finer.leaves.push_back(find(place.child(which)));
  return finer;
}

int Tree::most(int ranks) const {
  std::vector<int> count(index(ranks));
  for (const Leaf &leaf : leaves_) ++count[index(leaf.owner)];
  return *std::ranges::max_element(count);
}

// Raises one leaf's change to what its siblings and neighbours ask for.
bool Tree::raise(int leaf, std::vector<int> &change) const {
  const Place &place = leaves_[index(leaf)].place;
  int &mine = change[index(leaf)];
  const int before = mine;
  if (mine < 0) {
    bool together = place.level > 0;
    for (int which = 0; together && which < 8; ++which) {
      const int sibling = find(place.parent().child(which));
      together = sibling >= 0 && change[index(sibling)] < 0;
    }
    if (!together) mine = 0;
  }
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) {
      const Neighbours beside = neighbours(leaf, axis, side);
      if (beside.relation == Relation::finer) mine = std::max(mine, 0); // even if those coarsen now
      for (const int other : beside.leaves) {
        const int level = leaves_[index(other)].place.level + change[index(other)];
        mine = std::max(mine, level - 1 - place.level);
      }
    }
  return mine != before;
}

std::vector<int> Tree::settle(std::vector<int> change) const {
  for (bool again = true; again;) {
    again = false;
    for (int leaf = 0; leaf < size(); ++leaf) again = raise(leaf, change) || again;
  }
  return change;
}

std::vector<Leaf> Tree::changed(const std::vector<int> &change) const {
  std::vector<Leaf> result;
  for (int n = 0; n < size(); ++n) {
    const Leaf &leaf = leaves_[index(n)];
    if (change[index(n)] == 0) result.push_back(leaf);
    if (change[index(n)] > 0)
      for (int which = 0; which < 8; ++which) result.push_back({leaf.place.child(which), leaf.owner});
    if (change[index(n)] < 0 && leaf.place.which() == 0) result.push_back({leaf.place.parent(), leaf.owner});
  }
  return result;
}

std::vector<Leaf> Tree::divided(int ranks) const {
  std::vector<Leaf> result = leaves_;
  for (int n = 0; n < size(); ++n)
    result[index(n)].owner = static_cast<int>(static_cast<long>(n) * ranks / size());
  return result;
}

std::vector<Leaf> unrefined(Int3 roots, Int3 procs) {
  std::vector<Leaf> result;
  for (int z = 0; z < roots[2]; ++z)
    for (int y = 0; y < roots[1]; ++y)
      for (int x = 0; x < roots[0]; ++x) {
        const Int3 rank{x * procs[0] / roots[0], y * procs[1] / roots[1], z * procs[2] / roots[2]};
        result.push_back({{0, {x, y, z}}, rank[0] + procs[0] * (rank[1] + procs[1] * rank[2])});
      }
  std::ranges::sort(result, {}, [](const Leaf &leaf) { return morton(leaf.place.at); });
  return result;
}

} // namespace amr
