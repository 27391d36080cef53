// PETSc's Krylov methods, plain and pipelined.
#pragma once

#include "fem/solve/petsc.hpp"

namespace haloscope::fem {

std::string words(KSPConvergedReason reason);

enum class Method { cg, pipelined_cg, gmres, pipelined_gmres };

// Solves A x = b from x = 0 up to the residual's norm. `pc` may be null: none, or Jacobi. The pipelined
// recurrences drift: as long as the true residual is not small enough, they start again from x.
Outcome krylov(Mat matrix, PC pc, std::span<const double> b, std::span<double> x,
               const SolveSettings &settings, Method method = Method::cg);

// Conjugate gradients with PETSc's own algebraic multigrid on an assembled matrix: what others do. Options of
// PETSC_OPTIONS with the prefix gamg_ are obeyed.
Outcome conjugate_gradients_gamg(Mat matrix, std::span<const double> b, std::span<double> x,
                                 const SolveSettings &settings);

} // namespace haloscope::fem
