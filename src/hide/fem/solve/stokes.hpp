// Stokes' equations with a varying viscosity, −∇·(κ∇u) + ∇p = f, ∇·u = 0, u = 0 on the boundary, in equal
// orders: the pressure is stabilised by h²/κ times its gradient (Brezzi and Pitkäranta). On cubes.
#pragma once

#include "hide/fem/operator/functions.hpp"
#include "hide/fem/solve/block.hpp"
#include "hide/fem/solve/grids.hpp"

#include <array>

namespace haloscope::fem {

class Stokes {
public:
  // Collective. `grids` is of the velocity's components and has to live on. Each block has operators, and so
  // alphas, of its own.
  Stokes(Grids &grids, const Coefficient &viscosity, const OperatorSettings &settings);
  std::vector<double> force(const std::array<Function, 3> &f) const; // the components' right-hand sides
  Outcome solve(PC multigrid, std::span<const double> force, std::span<double> velocity,
                std::span<double> pressure, const SolveSettings &settings);
  std::size_t rows() const { return grids_.finest().nodes.owned(); } // of a component, and the pressure
  double alpha_stabilisation() const { return stabilisation_.alpha(phase_energy); }
  double alpha_derivative(int direction) const {
    return derivatives_.at(static_cast<std::size_t>(direction)).alpha();
  }

private:
  void divergence(const double *velocity, double *pressure);
  void gradient(const double *pressure, double *velocity);

  Grids &grids_;
  std::vector<Operator> derivatives_; // x, y, z
  Operator stabilisation_;
  std::vector<double> scale_, masked_, product_; // the last two are of one component
};

} // namespace haloscope::fem
