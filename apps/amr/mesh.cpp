#include "mesh.hpp"

#include "../common/mpi.hpp"
#include "block.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace amr {

namespace {

// Messages that are all posted before any is waited for. Two ranks must post their messages to each other in
// the same order. Values must stay until `finish`.
class Post {
public:
  explicit Post(int kind) : tag_(3 + kind) {} // after those of the exchange of faces

  void send(int to, std::span<const double> values) {
    MPI_Isend(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, to, tag_, MPI_COMM_WORLD,
              &requests_.emplace_back());
  }
  void receive(int from, std::span<double> values) {
    MPI_Irecv(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, from, tag_, MPI_COMM_WORLD,
              &requests_.emplace_back());
  }
  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

private:
  int tag_;
  std::vector<MPI_Request> requests_;
};

// Eight blocks become one: their means go to the rank that will own it.
class Octants {
public:
  Octants(const Shape &shape, int rank) : shape_(shape), rank_(rank), post_(0) {}

  // To be called on all ranks for all children in the same order; only their owner has the cells.
  void bring(const Leaf &child, const Block &block, int parent, int owner) {
    if (child.owner != rank_ && owner != rank_) return;
    Octant &octant = octants_.emplace_back(parent, child.place.which(), owner == rank_);
    octant.values.resize(shape_.octant());
    if (child.owner != rank_) {
      post_.receive(child.owner, octant.values);
      return;
    }
    coarsen(shape_, block, octant.values);
    if (owner != rank_) post_.send(owner, octant.values);
  }

  // Fills this rank's parents.
  void finish(std::vector<Block> &parents) {
    post_.finish();
    for (const Octant &octant : octants_) {
      if (!octant.stays) continue;
      Block &parent = parents[static_cast<std::size_t>(octant.parent)];
      parent.resize(shape_.size());
      set_octant(shape_, parent, octant.which, octant.values);
    }
  }

private:
  struct Octant {
    Octant(int parent_leaf, int child, bool here) : parent(parent_leaf), which(child), stays(here) {}
    int parent, which;
    bool stays;
    std::vector<double> values;
  };

  Shape shape_;
  int rank_;
  Post post_;
  std::vector<Octant> octants_;
};

} // namespace

Mesh::Mesh(const Parameters &p, apps::World world)
    : p_(p), world_(world), shape_{p.cells(), p.num_vars}, tree_(p.roots(), unrefined(p.roots(), p.procs())),
      blocks_(index(tree_.size())) {
  for (int n = 0; n < tree_.size(); ++n) {
    const Leaf &leaf = tree_.leaves()[index(n)];
    if (leaf.owner == world_.rank) blocks_[index(n)] = initial(shape_, leaf.place, p.initial == "uniform");
  }
}

// Refine (1) where an object is, coarsen (-1) where none is.
int Mesh::wish(const Place &place, const std::vector<Object> &objects) const {
  Point low, high;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double blocks = static_cast<double>(tree_.roots()[axis] << place.level);
    low[axis] = place.at[axis] / blocks;
    high[axis] = (place.at[axis] + 1) / blocks;
  }
  const bool wanted = p_.uniform_refine == 1 || std::ranges::any_of(objects, [&](const Object &object) {
                        return object.touches(low, high);
                      });
  if (wanted) return place.level < p_.num_refine ? 1 : 0;
  return place.level > 0 ? -1 : 0;
}

// Of all leaves; each rank asks its own blocks.
std::vector<int> Mesh::wishes(const std::vector<Object> &objects) const {
  std::vector<int> result(index(tree_.size()));
  for (int n = 0; n < tree_.size(); ++n) {
    const Leaf &leaf = tree_.leaves()[index(n)];
    if (leaf.owner == world_.rank) result[index(n)] = wish(leaf.place, objects);
  }
  MPI_Allreduce(MPI_IN_PLACE, result.data(), tree_.size(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return result;
}

bool Mesh::adapt(const std::vector<Object> &objects) {
  const std::vector<int> change = tree_.settle(wishes(objects));
  if (std::ranges::all_of(change, [](int c) { return c == 0; })) return false;
  Tree next(tree_.roots(), tree_.changed(change));
  if (const int most = next.most(world_.size); most > p_.max_blocks)
    throw apps::UsageError("a rank would have " + std::to_string(most) + " blocks, --max_blocks is " +
                           std::to_string(p_.max_blocks));
  replace(std::move(next), change);
  return true;
}

void Mesh::refine(int leaf, const Tree &next, std::vector<Block> &to) {
  const Place &place = tree_.leaves()[index(leaf)].place;
  for (int which = 0; which < 8; ++which)
    to[index(next.find(place.child(which)))] = refined(shape_, blocks_[index(leaf)], which);
}

// Brings cells to their new blocks.
void Mesh::replace(Tree next, const std::vector<int> &change) {
  std::vector<Block> to(index(next.size()));
  Octants octants(shape_, world_.rank);
  for (int n = 0; n < tree_.size(); ++n) {
    const Leaf &leaf = tree_.leaves()[index(n)];
    Block &block = blocks_[index(n)];
    if (change[index(n)] < 0) {
      const int parent = next.find(leaf.place.parent());
      octants.bring(leaf, block, parent, next.leaves()[index(parent)].owner);
    } else if (leaf.owner == world_.rank && change[index(n)] > 0) {
      refine(n, next, to);
    } else if (leaf.owner == world_.rank) {
      to[index(next.find(leaf.place))] = std::move(block);
    }
    block = {};
  }
  octants.finish(to);
  tree_ = std::move(next);
  blocks_ = std::move(to);
}

int Mesh::balance() {
  Post post(1);
  const std::vector<Leaf> leaves = tree_.divided(world_.size);
  int moved = 0;
  for (int n = 0; n < tree_.size(); ++n) {
    const int from = tree_.leaves()[index(n)].owner, to = leaves[index(n)].owner;
    if (from == to) continue;
    ++moved;
    if (to == world_.rank) {
      blocks_[index(n)].resize(shape_.size());
      post.receive(from, blocks_[index(n)]);
    } else if (from == world_.rank) {
      post.send(to, blocks_[index(n)]);
    }
  }
  post.finish();
  for (int n = 0; n < tree_.size(); ++n)
    if (leaves[index(n)].owner != world_.rank) blocks_[index(n)] = {};
  tree_ = Tree(tree_.roots(), leaves);
  return moved;
}

} // namespace amr
