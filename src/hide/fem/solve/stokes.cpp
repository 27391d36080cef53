#include "hide/fem/solve/stokes.hpp"

#include <algorithm>

namespace haloscope::fem {

namespace {

constexpr double stabilisation = 1.0 / 12;

double longest_edge(const Forest &forest) {
  double size = 0;
  for (const Leaf &leaf : forest.leaves()) size = std::max(size, forest.size(leaf));
  MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_DOUBLE, MPI_MAX, forest.communicator());
  return size;
}

// A number over the viscosity.
Coefficient over(double number, const Coefficient &viscosity) {
  return {[number, value = viscosity.value](const Point &point) { return number / value(point); },
          viscosity.pointwise};
}

OperatorSettings part(OperatorSettings settings, Part wanted) {
  settings.part = wanted;
  settings.dirichlet = false;
  settings.overlap.phases = 1;
  settings.overlap.region = nullptr;
  return settings;
}

} // namespace

Stokes::Stokes(Grids &grids, const Coefficient &viscosity, const OperatorSettings &settings)
    : grids_(grids), stabilisation_(grids.finest().forest, grids.finest().nodes,
                                    over(stabilisation * longest_edge(grids.finest().forest) *
                                             longest_edge(grids.finest().forest),
                                         viscosity),
                                    part(settings, Part::stiffness)),
      scale_(rows()), masked_(rows()), product_(rows()) {
  const auto &[forest, nodes] = grids.finest();
  agree(forest.communicator(),
        forest.cubes() ? "" : "the block system needs cubes: leave out the deformation");
  for (const Part direction : {Part::derivative_x, Part::derivative_y, Part::derivative_z})
    derivatives_.emplace_back(forest, nodes, Coefficient{}, part(settings, direction));
  Operator mass(forest, nodes, over(1, viscosity), part(settings, Part::mass));
  const std::vector<double> ones(rows(), 1.0);
  mass.apply(ones.data(), scale_.data());
}

std::vector<double> Stokes::force(const std::array<Function, 3> &f) const {
  std::vector<double> all;
  for (const Function &component : f) {
    const std::vector<double> values =
        right_hand_side(grids_.finest().forest, grids_.finest().nodes, component);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// −∫ q ∇·u. Velocities on the boundary are zero, whatever the vector says.
void Stokes::divergence(const double *velocity, double *pressure) {
  const auto fixed = grids_.operator_of(0).masked();
  std::fill_n(pressure, rows(), 0.0);
  for (Operator &derivative : derivatives_) {
    for (std::size_t i = 0; i < rows(); ++i) masked_[i] = fixed[i] ? 0 : velocity[i];
    derivative.apply(masked_.data(), product_.data());
    for (std::size_t i = 0; i < rows(); ++i) pressure[i] -= product_[i];
    velocity += rows();
  }
}

// Its transpose: −∫ p ∇·v is ∫ ∇p · v where v is zero on the boundary.
void Stokes::gradient(const double *pressure, double *velocity) {
  const auto fixed = grids_.operator_of(0).masked();
  for (Operator &derivative : derivatives_) {
    derivative.apply(pressure, velocity);
    for (std::size_t i = 0; i < rows(); ++i)
      if (fixed[i]) velocity[i] = 0;
    velocity += rows();
  }
}

Outcome Stokes::solve(PC multigrid, std::span<const double> force, std::span<double> velocity,
                      std::span<double> pressure, const SolveSettings &settings) {
  const Linear a = grids_.linear(0);
  const BlockSystem system{a,
                           3,
                           [this](const double *u, double *p) { divergence(u, p); },
                           [this](const double *p, double *u) { gradient(p, u); },
                           {a.comm,
                            a.rows,
                            [this](const double *x, double *y, int) { stabilisation_.apply(x, y); },
                            {},
                            a.messages},
                           scale_};
  return solve_block(system, multigrid, force, velocity, pressure, settings);
}

} // namespace haloscope::fem
