// The linear systems of AMG2023: a diffusion operator on a cuboid of points, of 27 or 7 points a row, the
// right-hand side 1, and 0 to begin with.
#ifndef APPS_AMG_PROBLEM_HPP
#define APPS_AMG_PROBLEM_HPP

#include "../common/process_grid.hpp"
#include "library.hpp"
#include "parameters.hpp"

#include <array>

namespace amg {

// How a grid is divided: the points of a rank have consecutive numbers, x fastest.
class Grid {
public:
  Grid(const Parameters &p, int rank) : points_(p.points), ranks_(p.procs, rank), rank_(rank) {}

  HYPRE_Int local() const { return points_[0] * points_[1] * points_[2]; }
  HYPRE_BigInt first() const { return static_cast<HYPRE_BigInt>(local()) * rank_; }
  HYPRE_BigInt last() const { return first() + local() - 1; }
  double all() const { return double(local()) * ranks_.dims[0] * ranks_.dims[1] * ranks_.dims[2]; }
  const Int3 &points() const { return points_; }
  const Int3 &procs() const { return ranks_.dims; }
  // The number of a point that is up to one outside of this rank's, or -1 outside of the grid.
  HYPRE_BigInt number(Int3 point) const;

private:
  Int3 points_;
  apps::ProcessGrid ranks_;
  int rank_;
};

Matrix make_matrix(const Grid &grid, const Parameters &p);
Vector make_vector(const Grid &grid, double value);

} // namespace amg

#endif
