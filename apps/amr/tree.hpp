// The octree of blocks. Every rank has all of it, only the cells are distributed.
#ifndef APPS_AMR_TREE_HPP
#define APPS_AMR_TREE_HPP

#include "../common/options.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace amr {

using apps::Int3;

constexpr std::size_t index(int n) { return static_cast<std::size_t>(n); }

// Where a block is: its coordinates among the blocks of its level, as if all were refined to it.
struct Place {
  int level = 0;
  Int3 at{};

  bool operator==(const Place &) const = default;
  Place parent() const { return {level - 1, {at[0] >> 1, at[1] >> 1, at[2] >> 1}}; }
  Place child(int which) const;
  // Which child of its parent it is, x fastest.
  int which() const { return (at[0] & 1) + 2 * (at[1] & 1) + 4 * (at[2] & 1); }
  // The block of the same level that lies behind a side (0: towards smaller, 1: towards larger coordinates).
  Place beside(int axis, int side) const;
};

// A block that is not refined.
struct Leaf {
  Place place;
  int owner = 0;
};

enum class Relation { boundary, same, coarser, finer };

// The leaves behind one side of a leaf: their indices, four of them if they are finer.
struct Neighbours {
  Relation relation = Relation::boundary;
  std::vector<int> leaves;
};

class Tree {
public:
  static constexpr int bits = 19; // of a coordinate on the finest level

  Tree(Int3 roots, std::vector<Leaf> leaves);

  // In Morton order.
  const std::vector<Leaf> &leaves() const { return leaves_; }
  int size() const { return static_cast<int>(leaves_.size()); }
  Int3 roots() const { return roots_; }
  // The index of the leaf at a place, or -1.
  int find(const Place &place) const;
  Neighbours neighbours(int leaf, int axis, int side) const;
  // Blocks of the rank that has most.
  int most(int ranks) const;

  // Returns the permitted changes (-1 coarsen, 0, or 1 refine) for the wanted ones. Siblings coarsen
  // together, but not next to finer leaves. Levels of neighbours differ by one at most. No leaf gets a
  // smaller change than it wants.
  std::vector<int> settle(std::vector<int> change) const;
  // The leaves after that. Children stay where their parent was, and a parent is where its first child was.
  std::vector<Leaf> changed(const std::vector<int> &change) const;
  // The same leaves, divided along the curve among ranks whose numbers of leaves differ by one at most.
  std::vector<Leaf> divided(int ranks) const;

private:
  bool inside(const Place &place) const;
  bool raise(int leaf, std::vector<int> &change) const;

  Int3 roots_;
  std::vector<Leaf> leaves_;
  std::unordered_map<std::uint64_t, int> index_;
};

// One leaf for each root, on a grid of ranks with the same number each.
std::vector<Leaf> unrefined(Int3 roots, Int3 procs);

} // namespace amr

#endif
