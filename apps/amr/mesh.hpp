// The tree of blocks with this rank's cells: they refine, coarsen and move.
#ifndef APPS_AMR_MESH_HPP
#define APPS_AMR_MESH_HPP

#include "../common/program.hpp"
#include "block.hpp"
#include "objects.hpp"
#include "parameters.hpp"

namespace amr {

class Mesh {
public:
  Mesh(const Parameters &p, apps::World world);

  const Shape &shape() const { return shape_; }
  const Tree &tree() const { return tree_; }
  // The tree's leaves; those of other ranks have no cells.
  std::vector<Block> &blocks() { return blocks_; }
  const std::vector<Block> &blocks() const { return blocks_; }

  // Changes each block by at most one level, as objects want it. Returns whether any has changed.
  bool adapt(const std::vector<Object> &objects);
  // Moves blocks until ranks have the same number, but for one. Returns how many have moved, of all ranks.
  int balance();

private:
  int wish(const Place &place, const std::vector<Object> &objects) const;
  std::vector<int> wishes(const std::vector<Object> &objects) const;
  void refine(int leaf, const Tree &next, std::vector<Block> &to);
  void replace(Tree next, const std::vector<int> &change);

  const Parameters &p_;
  apps::World world_;
  Shape shape_;
  Tree tree_;
  std::vector<Block> blocks_;
};

} // namespace amr

#endif
