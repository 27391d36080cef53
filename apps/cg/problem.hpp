// The problem that is solved, whose solution is 1 everywhere, and the vectors that test the solver.
#ifndef APPS_CG_PROBLEM_HPP
#define APPS_CG_PROBLEM_HPP

#include "../common/process_grid.hpp"
#include "field.hpp"

namespace cg {

// The operator's row sums: the right-hand side that belongs to a solution of ones.
Field row_sums(Shape shape, const apps::ProcessGrid &grid);

// Values in [−1, 1) that depend on a point's place in the whole grid and on `seed`, not on the ranks.
Field scattered(Shape shape, const apps::ProcessGrid &grid, unsigned seed);

// The largest distance from 1 over all ranks.
double error(const Field &x);

} // namespace cg

#endif
