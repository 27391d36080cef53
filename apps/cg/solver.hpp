// Conjugate gradients, and the multigrid cycle that preconditions them.
#ifndef APPS_CG_SOLVER_HPP
#define APPS_CG_SOLVER_HPP

#include "halo.hpp"

#include <functional>
#include <string>

namespace cg {

// The preconditioner: one V-cycle of geometric multigrid over four grids, each half as fine as the one above.
// Transfer is by injection, with one smoothing before and after. The coarsest grid is only smoothed.

constexpr int multigrid_levels = 4;

enum class Smoother { gauss_seidel, jacobi };

class Multigrid {
public:
  Multigrid(Shape finest, const apps::ProcessGrid &grid, Smoother smoother);

  // z = M⁻¹ r.
  void apply(const Field &r, Field &z) { cycle(0, r, z); }

private:
  struct Level {
    std::string name;
    Halo halo;
    Field b, x, scratch; // b and x only below the finest grid, scratch only for Jacobi
  };

  void cycle(std::size_t number, const Field &b, Field &x);
  void smooth(Level &level, const Field &b, Field &x);

  std::vector<Level> levels_;
  Smoother smoother_;
};

// Preconditioned conjugate gradients, as in Algorithm 1 of Chester, Wright and Jarvis (2018).
struct Stop {
  int iterations;
  double tolerance; // of the residual, relative to the first
};

struct Outcome {
  int iterations = 0;
  double residual = 1; // relative to the first
};

// Called after each iteration with its number, the relative residual and the iterate.
using Observer = std::function<void(int, double, const Field &)>;

// Solves A x = b from the x that is given. Without a preconditioner (nullptr): plain conjugate gradients.
Outcome solve(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, Stop stop,
              const Observer &observe);

} // namespace cg

#endif
