// A stage's arithmetic.
#ifndef APPS_AMR_STENCIL_HPP
#define APPS_AMR_STENCIL_HPP

#include "block.hpp"

namespace amr {

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
