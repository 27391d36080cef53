#include "fem/solve/stokes.hpp"

#include "fem/operator/load.hpp"
#include "fem/solve/krylov.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace haloscope::fem {

namespace {

struct Preconditioner {
  PC multigrid;
  int components;
  std::vector<double> inverse_scale;
  OwnedVec in, out; // of one component, without storage of their own
};

void velocity_part(Preconditioner &own, Vec r, Vec z) {
  const double *from = nullptr;
  double *to = nullptr;
  PetscInt rows = 0;
  check(VecGetLocalSize(own.in.get(), &rows), "velocity");
  check(VecGetArrayRead(r, &from), "velocity");
  check(VecGetArrayWrite(z, &to), "velocity");
  for (std::ptrdiff_t i = 0; i < own.components; ++i) {
    check(VecPlaceArray(own.in.get(), from + i * rows), "velocity");
    check(VecPlaceArray(own.out.get(), to + i * rows), "velocity");
    check(PCApply(own.multigrid, own.in.get(), own.out.get()), "velocity's multigrid");
    check(VecResetArray(own.out.get()), "velocity");
    check(VecResetArray(own.in.get()), "velocity");
  }
  check(VecRestoreArrayWrite(z, &to), "velocity");
  check(VecRestoreArrayRead(r, &from), "velocity");
}

void pressure_part(const Preconditioner &own, Vec r, Vec z) {
  const double *from = nullptr;
  double *to = nullptr;
  check(VecGetArrayRead(r, &from), "pressure");
  check(VecGetArrayWrite(z, &to), "pressure");
  for (std::size_t i = 0; i < own.inverse_scale.size(); ++i) to[i] = own.inverse_scale[i] * from[i];
  check(VecRestoreArrayWrite(z, &to), "pressure");
  check(VecRestoreArrayRead(r, &from), "pressure");
}

PetscErrorCode apply(PC pc, Vec r, Vec z) {
  return guarded([&] {
    void *context = nullptr;
    check(PCShellGetContext(pc, static_cast<void *>(&context)), "block preconditioner");
    std::array<Vec, 2> from{}, to{};
    for (int i = 0; i < 2; ++i) {
      check(VecNestGetSubVec(r, i, &from.at(static_cast<std::size_t>(i))), "block");
      check(VecNestGetSubVec(z, i, &to.at(static_cast<std::size_t>(i))), "block");
    }
    auto &own = *static_cast<Preconditioner *>(context);
    velocity_part(own, from[0], to[0]);
    pressure_part(own, from[1], to[1]);
  });
}

Preconditioner preconditioner(const BlockSystem &system, PC multigrid) {
  Preconditioner made{multigrid, system.components, system.scale, {}, {}};
  for (double &value : made.inverse_scale) value = 1 / value;
  const auto rows = static_cast<PetscInt>(system.velocity.rows);
  for (OwnedVec *vec : {&made.in, &made.out})
    check(VecCreateMPIWithArray(system.velocity.comm, 1, rows, PETSC_DETERMINE, nullptr, vec->put()),
          "block");
  return made;
}

// Applies the same operator to every component.
Map velocities(const BlockSystem &system) {
  const std::size_t rows = system.velocity.rows;
  const std::size_t all = rows * static_cast<std::size_t>(system.components);
  return {system.velocity.comm,
          all,
          all,
          [rows, all, &system](const double *x, double *y) {
            for (std::size_t at = 0; at < all; at += rows)
              system.velocity.apply(x + at, y + at, phase_energy);
            if (rows == 0) // a rank without nodes takes part in what others exchange
              for (int i = 0; i < system.components; ++i) system.velocity.apply(x, y, phase_energy);
          },
          {}};
}

Map minus_stabilisation(const BlockSystem &system) {
  const std::size_t rows = system.stabilisation.rows;
  return {system.stabilisation.comm,
          rows,
          rows,
          [rows, &system](const double *x, double *y) {
            system.stabilisation.apply(x, y, phase_energy);
            for (std::size_t i = 0; i < rows; ++i) y[i] = -y[i];
          },
          {}};
}

class Saddle {
public:
  explicit Saddle(const BlockSystem &system)
      : a_(velocities(system)), c_(minus_stabilisation(system)),
        gradient_(Map{comm(system), velocities(system).rows, system.stabilisation.rows, system.gradient, {}}),
        divergence_(
            Map{comm(system), system.stabilisation.rows, velocities(system).rows, system.divergence, {}}) {
    std::array<Mat, 4> blocks{a_.mat(), gradient_.mat(), divergence_.mat(), c_.mat()};
    check(MatCreateNest(comm(system), 2, nullptr, 2, nullptr, blocks.data(), nest_.put()), "block matrix");
    check(MatNestSetVecType(nest_.get(), VECNEST), "block matrix");
    if (system.constant_free) remove_constant();
  }
  Mat mat() const { return nest_.get(); }
  OwnedVec vector() const {
    OwnedVec made;
    check(MatCreateVecs(mat(), made.put(), nullptr), "block vector");
    check(VecSet(made.get(), 0), "block vector");
    return made;
  }

private:
  static MPI_Comm comm(const BlockSystem &system) { return system.velocity.comm; }

  void remove_constant() const {
    const OwnedVec constant = vector();
    Vec pressure = nullptr;
    check(VecNestGetSubVec(constant.get(), 1, &pressure), "constant pressure");
    check(VecSet(pressure, 1), "constant pressure");
    check(VecNormalize(constant.get(), nullptr), "constant pressure");
    Vec basis = constant.get();
    Owned<MatNullSpace, MatNullSpaceDestroy> space;
    check(MatNullSpaceCreate(PetscObjectComm(reinterpret_cast<PetscObject>(mat())), PETSC_FALSE, 1, &basis,
                             space.put()),
          "constant pressure");
    check(MatSetNullSpace(mat(), space.get()), "constant pressure");
  }

  Shell a_, c_, gradient_, divergence_;
  OwnedMat nest_;
};

void copy(Vec nest, int block, std::span<double> to) {
  Vec part = nullptr;
  const double *values = nullptr;
  check(VecNestGetSubVec(nest, block, &part), "solution");
  check(VecGetArrayRead(part, &values), "solution");
  std::copy_n(values, to.size(), to.begin());
  check(VecRestoreArrayRead(part, &values), "solution");
}

void fill(Vec nest, std::span<const double> from) {
  Vec part = nullptr;
  double *values = nullptr;
  check(VecNestGetSubVec(nest, 0, &part), "force");
  check(VecGetArrayWrite(part, &values), "force");
  std::ranges::copy(from, values);
  check(VecRestoreArrayWrite(part, &values), "force");
}

} // namespace

Outcome solve_block(const BlockSystem &system, PC multigrid, std::span<const double> force,
                    std::span<double> velocity, std::span<double> pressure, const SolveSettings &settings) {
  double start = MPI_Wtime();
  const Saddle saddle(system);
  Preconditioner blocks = preconditioner(system, multigrid);
  const OwnedVec b = saddle.vector(), x = saddle.vector(), r = saddle.vector();
  fill(b.get(), force);
  OwnedKSP ksp;
  check(KSPCreate(system.velocity.comm, ksp.put()), "MINRES");
  check(KSPSetType(ksp.get(), KSPMINRES), "MINRES");
  check(KSPSetOperators(ksp.get(), saddle.mat(), saddle.mat()), "MINRES");
  check(KSPSetTolerances(ksp.get(), settings.tolerance, PETSC_DEFAULT, PETSC_DEFAULT, settings.iterations),
        "MINRES");
  PC pc = nullptr;
  check(KSPGetPC(ksp.get(), &pc), "block preconditioner");
  check(PCSetType(pc, PCSHELL), "block preconditioner");
  check(PCShellSetContext(pc, &blocks), "block preconditioner");
  check(PCShellSetApply(pc, apply), "block preconditioner");
  check(KSPSetUp(ksp.get()), "MINRES");
  Outcome outcome;
  outcome.setup_seconds = MPI_Wtime() - start;
  start = MPI_Wtime();
  check(KSPSolve(ksp.get(), b.get(), x.get()), "MINRES");
  outcome.solve_seconds = MPI_Wtime() - start;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt iterations = 0;
  check(KSPGetConvergedReason(ksp.get(), &reason), "MINRES");
  check(KSPGetIterationNumber(ksp.get(), &iterations), "MINRES");
  outcome.iterations = static_cast<int>(iterations);
  outcome.converged = reason > 0;
  outcome.reason = words(reason);
  double scale = 0;
  check(MatMult(saddle.mat(), x.get(), r.get()), "residual");
  check(VecAYPX(r.get(), -1, b.get()), "residual");
  check(VecNorm(b.get(), NORM_2, &scale), "residual");
  check(VecNorm(r.get(), NORM_2, &outcome.residual), "residual");
  outcome.residual /= scale > 0 ? scale : 1;
  copy(x.get(), 0, velocity);
  copy(x.get(), 1, pressure);
  return outcome;
}

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
