#include "parameters.hpp"

#include "../common/process_grid.hpp"

#include <HYPRE_utilities.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace amg {

apps::Options options(Parameters &p) {
  apps::Options o(
      "amg", "Solves a problem on a grid that grows with the ranks by hypre's algebraic multigrid.", "-");
  o.add("problem", p.problem, "N", "1: 27 points, GMRES; 2: 7 points, CG; both with BoomerAMG");
  o.add("n", p.points, "X Y Z", "points of a rank", 3);
  o.add("P", p.procs, "X Y Z", "grid of ranks; 0,0,0: all along x", 3);
  o.add("k", p.restart, "N", "iterations of GMRES from one restart to the next");
  o.add("interptype", p.interpolation, "N", "interpolation, by hypre's number");
  o.add("Pmx", p.most_elements, "N", "elements of a row of interpolation at most");
  o.add("rlx", p.relaxation, "N", "smoother, by hypre's number; -1: what hypre takes by itself");
  o.add("mxrs", p.most_row_sum, "R", "sum of a row from which on it couples to none; of problem 1");
  o.add("agg_nl", p.aggressive, "N", "levels that are coarsened aggressively; of problem 2");
  o.add("keepT", p.accepted, "", "keep transposed interpolations: always so");
  o.add("memory_host", p.accepted, "", "vectors are in the host's memory: always so");
  o.add("exec_host", p.accepted, "", "the host computes: always so");
  o.add("print", p.print, "", "write matrix and vectors to IJ.out.*");
  o.add("printstats", p.stats, "", "print what hypre says of levels and convergence");
  o.add("printallstats", p.all_stats, "", "print each iteration's residual, too");
  o.add("products", p.products, "N", "in place of solving, N products with the matrix");
  return o;
}

namespace {

bool positive(const Int3 &v) { return v[0] > 0 && v[1] > 0 && v[2] > 0; }

// hypre's numbers of rows may have 32 bits.
void require_countable(const Parameters &p) {
  double rows = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) rows *= double(p.points[axis]) * p.procs[axis];
  const double local = double(p.points[0]) * p.points[1] * p.points[2];
  const bool fits = rows <= double(std::numeric_limits<HYPRE_BigInt>::max()) &&
                    27 * local <= double(std::numeric_limits<HYPRE_Int>::max());
  if (!fits)
    throw apps::UsageError("-n " + apps::show_value(p.points) + " on -P " + apps::show_value(p.procs) +
                           " has more rows, or a rank more entries, than this hypre can count");
}

// hypre accepts any number here, and continues without a smoother.
bool is_smoother(int number) {
  constexpr std::array others{88, 89, 98, 99};
  return (number >= -1 && number <= 18) || std::ranges::find(others, number) != others.end();
}

} // namespace

void complete(Parameters &p, int ranks) {
  if (p.procs == Int3{0, 0, 0}) p.procs = {ranks, 1, 1};
  apps::require_ranks(p.procs, ranks, "-P");
  if (!positive(p.points))
    throw apps::UsageError("-n " + apps::show_value(p.points) + ": a rank needs a point along each axis");
  if (p.problem != 1 && p.problem != 2)
    throw apps::UsageError("-problem is 1 or 2, not " + std::to_string(p.problem));
  if (!is_smoother(p.relaxation))
    throw apps::UsageError("-rlx " + std::to_string(p.relaxation) + ": hypre knows no such number");
  if (p.restart < 1) throw apps::UsageError("-k must be positive");
  if (p.most_elements < 0 || p.aggressive < 0 || p.products < 0)
    throw apps::UsageError("-Pmx, -agg_nl and -products must not be negative");
  require_countable(p);
}

} // namespace amg
