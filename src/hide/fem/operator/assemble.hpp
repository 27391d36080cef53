// The operator's matrix, by plain quadrature element after element: for small meshes, the coarsest level
// of multigrid, and tests. Shares nothing with the fast kernels.
#pragma once

#include "hide/fem/operator/operator.hpp"

namespace haloscope::fem {

// Collective. Entries of this rank's elements, to be added up over all ranks; identity rows of masked
// nodes come from their owner, once.
[[nodiscard]] std::vector<Triplet> assemble(const Forest &forest, const Nodes &nodes,
                                            const Coefficient &coefficient, Part part = Part::stiffness,
                                            bool dirichlet = true);

} // namespace haloscope::fem
