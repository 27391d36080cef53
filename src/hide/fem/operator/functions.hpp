// Functions on the mesh: right-hand sides, and how far a solution is from a known one.
#pragma once

#include "hide/fem/operator/operator.hpp"

namespace haloscope::fem {

using Function = std::function<double(const Point &)>;

// Collective. ∫ f φ_i of owned nodes; 0 on the boundary if that is Dirichlet's.
[[nodiscard]] std::vector<double> right_hand_side(const Forest &forest, const Nodes &nodes, const Function &f,
                                                  bool dirichlet = true);

// Collective. The L2 norm of u − exact, of a vector of owned nodes.
[[nodiscard]] double error(const Forest &forest, const Nodes &nodes, const double *u, const Function &exact);

} // namespace haloscope::fem
