// The 27-point operator: 26 on the diagonal, −1 for each of the 26 points around, never stored.
// All of these read the ghosts of x; the caller exchanges them first.
#ifndef APPS_CG_STENCIL_HPP
#define APPS_CG_STENCIL_HPP

#include "field.hpp"

namespace cg {

// y = A x.
void apply_operator(const Field &x, Field &y);

// coarse = (b − A x) at every second point in each direction: residual and injection in one pass.
void restrict_residual(const Field &b, const Field &x, Field &coarse);

// x += coarse at every second point: the transpose of that injection.
void prolong_add(const Field &coarse, Field &x);

// One forward and one backward Gauss-Seidel sweep over the rank's own points. Ghosts stay as they
// are, so that between ranks it is a Jacobi iteration, as in HPCG.
void symmetric_gauss_seidel(const Field &b, Field &x);

// x += ω D⁻¹ (b − A x), the same whatever the number of ranks; `scratch` is overwritten.
void damped_jacobi(const Field &b, Field &x, Field &scratch);

} // namespace cg

#endif
