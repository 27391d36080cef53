// Eight blocks become one: what they are to it goes to the rank where it will be.
#ifndef APPS_AMR_OCTANTS_HPP
#define APPS_AMR_OCTANTS_HPP

#include "block.hpp"
#include "post.hpp"

namespace amr {

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

} // namespace amr

#endif
