// Right-hand sides.
#pragma once

#include "fem/mesh/nodes.hpp"
#include "fem/operator/model_problem.hpp"

#include <vector>

namespace haloscope::fem {

// Collective. Returns ∫ f φ_i of owned nodes. f is first interpolated: it is evaluated once per node, and the
// error has the order of the solution's. The result is 0 on the boundary if `dirichlet`.
[[nodiscard]] std::vector<double> right_hand_side(const Forest &forest, const Nodes &nodes, const Function &f,
                                                  bool dirichlet = true);

} // namespace haloscope::fem
