// The cells of a block: variables one after the other, x fastest, with one layer of ghosts around.
#ifndef APPS_AMR_BLOCK_HPP
#define APPS_AMR_BLOCK_HPP

#include "tree.hpp"

#include <array>
#include <span>

namespace amr {

using Block = std::vector<double>;

struct Shape {
  Int3 cells;
  int variables;

  int length(int axis) const { return cells[static_cast<std::size_t>(axis)]; }
  // From a value to the next along an axis; `stride(3)`: to the next variable.
  std::size_t stride(int axis) const {
    std::size_t result = 1;
    for (int a = 0; a < axis; ++a) result *= static_cast<std::size_t>(length(a) + 2);
    return result;
  }
  // Where a cell's value is; cells count from 1, 0 is a ghost.
  std::size_t at(int variable, int x, int y, int z) const {
    return static_cast<std::size_t>(variable) * stride(3) + static_cast<std::size_t>(z) * stride(2) +
           static_cast<std::size_t>(y) * stride(1) + static_cast<std::size_t>(x);
  }
  std::size_t size() const { return static_cast<std::size_t>(variables) * stride(3); }
  // Values of an octant.
  std::size_t octant() const {
    return static_cast<std::size_t>(variables) * static_cast<std::size_t>(cells[0] / 2) *
           static_cast<std::size_t>(cells[1] / 2) * static_cast<std::size_t>(cells[2] / 2);
  }
};

// A block's cells before the first step: a number of [0, 1) that depends on place and variable alone, or 0.7.
Block initial(const Shape &shape, const Place &root, bool uniform);

// A child whose cells have the values of the parent cells that they were part of.
Block refined(const Shape &shape, const Block &parent, int which);
// The means of eight cells of a child, which become an octant of the parent.
void coarsen(const Shape &shape, const Block &child, std::span<double> octant);
void set_octant(const Shape &shape, Block &parent, int which, std::span<const double> octant);

// Adds the sum of each variable's cells to `totals`.
void add_totals(const Shape &shape, const Block &block, std::span<double> totals);

// Further results of a block.
struct Digest {
  double squares = 0;            // of all values, their sum
  double low = 0, high = 0;      // the least and the largest
  std::uint64_t fingerprint = 0; // of all bits and where they are; that of several blocks is their sum
};
Digest digest(const Shape &shape, const Block &block, const Place &place);

// A stage's arithmetic.

// Replaces the cells of some variables by the mean of themselves and their six neighbours. It is written as a
// sum of flows, so that what leaves a cell enters another, and equal values stay equal to the last bit.
class Stencil {
public:
  explicit Stencil(const Shape &shape);
  void apply(Block &block, int first, int count);

private:
  Shape shape_;
  std::vector<double> below_, here_; // two planes as they were before
};

} // namespace amr

#endif
