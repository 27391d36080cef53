// Saddle points [A B^T; B -C] as of Stokes' equations: MINRES over PETSc's nested matrix of shells, with a
// block-diagonal preconditioner: a multigrid cycle for each component of the velocity, and the pressure's
// scaled, lumped mass in place of the Schur complement.
#pragma once

#include "hide/fem/solve/shell.hpp"

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

// From zero, up to the residual's norm in the preconditioner's sense, which MINRES makes smaller; the
// outcome's residual is the Euclidean one. `multigrid` is of one component. `force` and `velocity` are
// components × rows.
Outcome solve_block(const BlockSystem &system, PC multigrid, std::span<const double> force,
                    std::span<double> velocity, std::span<double> pressure, const SolveSettings &settings);

} // namespace haloscope::fem
