// Integrals over the mesh by plain quadrature, element after element: the operator's matrix, and
// how far a solution is from a known one. Shares nothing with the fast kernels.
#pragma once

#include "fem/operator/operator.hpp"

namespace haloscope::fem {

// Collective. For small meshes, the coarsest level of multigrid, and tests. Returns the entries of this
// rank's elements, whose sum over all ranks is the matrix. Identity rows of masked nodes come from their
// owner, once.
[[nodiscard]] std::vector<Triplet> assemble(const Forest &forest, const Nodes &nodes,
                                            const Coefficient &coefficient, Part part = Part::stiffness,
                                            bool dirichlet = true);

// Collective. Returns the L2 norm of u − exact, of a vector of owned nodes.
[[nodiscard]] double error(const Forest &forest, const Nodes &nodes, const double *u, const Function &exact);

} // namespace haloscope::fem
