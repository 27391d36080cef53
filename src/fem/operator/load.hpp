// Right-hand sides.
#pragma once

#include "fem/mesh/nodes.hpp"
#include "fem/operator/model_problem.hpp"

#include <vector>

namespace haloscope::fem {

// Collective. Returns ∫ f φ_i of owned nodes, where f is first interpolated at the nodes: it is evaluated
// once a node, and the error is of the order of the solution's. 0 on the boundary if `dirichlet`.
[[nodiscard]] std::vector<double> right_hand_side(const Forest &forest, const Nodes &nodes, const Function &f,
                                                  bool dirichlet = true);

} // namespace haloscope::fem
