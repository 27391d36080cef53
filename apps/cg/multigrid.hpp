// The preconditioner: one V-cycle of geometric multigrid over four grids, each half as fine as the one
// above, transfer by injection, one smoothing before and after; the coarsest grid is only smoothed.
#ifndef APPS_CG_MULTIGRID_HPP
#define APPS_CG_MULTIGRID_HPP

#include "halo.hpp"

#include <string>

namespace cg {

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

} // namespace cg

#endif
