// Saddle points [A B^T; B -C] as of Stokes' equations: MINRES over PETSc's nested matrix of shells, with a
// block-diagonal preconditioner. That is a multigrid cycle for each component of the velocity, and the
// pressure's scaled, lumped mass in place of the Schur complement.
#pragma once

#include "fem/operator/assembly.hpp"
#include "fem/solve/multigrid.hpp"
#include "fem/solve/petsc.hpp"

#include <array>

namespace haloscope::fem {

struct BlockSystem {
  Linear velocity; // of one component
  int components = 3;
  // B: from components × rows, one component after the other; and its transpose.
  std::function<void(const double *velocity, double *pressure)> divergence;
  std::function<void(const double *pressure, double *velocity)> gradient;
  Linear stabilisation;      // C, of the pressure
  std::vector<double> scale; // of owned pressures: row sums of the mass over the viscosity
  bool constant_free = true; // the pressure is known up to a constant only
};

// Solves from zero, up to the residual's norm in the preconditioner's sense, which is what MINRES minimises;
// the outcome's residual is the Euclidean one. `multigrid` is of one component. `force` and `velocity` are
// components × rows.
Outcome solve_block(const BlockSystem &system, PC multigrid, std::span<const double> force,
                    std::span<double> velocity, std::span<double> pressure, const SolveSettings &settings);

// Stokes' equations with a varying viscosity, −∇·(κ∇u) + ∇p = f, ∇·u = 0, u = 0 on the boundary, in equal
// orders: the pressure is stabilised by h²/κ times its gradient (Brezzi and Pitkäranta). On cubes.
class Stokes {
public:
  // Collective. `grids` is of the velocity's components and has to live on. Each block has operators, and so
  // alphas, of its own.
  Stokes(Grids &grids, const Coefficient &viscosity, const OperatorSettings &settings);
  std::vector<double> force(const std::array<Function, 3> &f) const; // the components' right-hand sides
  Outcome solve(PC multigrid, std::span<const double> force, std::span<double> velocity,
                std::span<double> pressure, const SolveSettings &settings);
  std::size_t rows() const { return grids_.finest().nodes.owned(); } // of a component, and the pressure

private:
  void divergence(const double *velocity, double *pressure);
  void gradient(const double *pressure, double *velocity);

  Grids &grids_;
  std::vector<Operator> derivatives_; // x, y, z
  Operator stabilisation_;
  std::vector<double> scale_, masked_, product_; // the last two are of one component
};

} // namespace haloscope::fem
