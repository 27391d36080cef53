// PETSc's assembled operator of −∇·(κ∇u), Q1 on a cube of n³ elements, Dirichlet all around: 27 numbers a
// row. Cases: "matmult", a product; "gamg", conjugate gradients with GAMG from its setup to 1e-8; "whole",
// the same with grid and matrix. Arguments: n, jump.
#include <petscdmda.h>
#include <petscksp.h>

#include "turns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace {

void check(PetscErrorCode error) {
  if (error != 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

// The element matrix for κ = 1 and edges of length 1; nodes by bits x, y, z.
std::array<std::array<double, 8>, 8> element_matrix() {
  constexpr double stiff[2][2] = {{1, -1}, {-1, 1}}, mass[2][2] = {{2 / 6., 1 / 6.}, {1 / 6., 2 / 6.}};
  std::array<std::array<double, 8>, 8> made{};
  for (unsigned a = 0; a < 8; a++)
    for (unsigned b = 0; b < 8; b++) {
      const auto factor = [&](const double (&of)[2][2], unsigned axis) {
        return of[(a >> axis) & 1U][(b >> axis) & 1U];
      };
      made[a][b] = factor(stiff, 0) * factor(mass, 1) * factor(mass, 2) +
                   factor(mass, 0) * factor(stiff, 1) * factor(mass, 2) +
                   factor(mass, 0) * factor(mass, 1) * factor(stiff, 2);
    }
  return made;
}

class Problem {
public:
  Problem(PetscInt elements, double jump) : elements_(elements), jump_(jump), unit_(element_matrix()) {
    const PetscInt points = elements + 1;
    // Slices, so that halves are as for the other programs.
    PetscMPIInt ranks = 1;
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    check(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                       DMDA_STENCIL_BOX, points, points, points, 1, 1, ranks, 1, 1, nullptr, nullptr, nullptr,
                       &grid_));
    check(DMSetUp(grid_));
    check(DMSetMatType(grid_, MATAIJ));
    check(DMCreateMatrix(grid_, &matrix_));
    assemble();
    check(DMCreateGlobalVector(grid_, &right_));
    check(VecDuplicate(right_, &x_));
    check(VecDuplicate(right_, &y_));
    check(VecSetRandom(x_, nullptr));
    load();
  }
  ~Problem() {
    for (Vec *vector : {&right_, &x_, &y_}) VecDestroy(vector);
    MatDestroy(&matrix_);
    DMDestroy(&grid_);
  }
  Problem(const Problem &) = delete;
  Problem &operator=(const Problem &) = delete;

  void multiply() { check(MatMult(matrix_, x_, y_)); }

  void solve() {
    KSP solver = nullptr;
    PC preconditioner = nullptr;
    check(KSPCreate(PETSC_COMM_WORLD, &solver));
    check(KSPSetOperators(solver, matrix_, matrix_));
    check(KSPSetType(solver, KSPCG));
    check(KSPGetPC(solver, &preconditioner));
    check(PCSetType(preconditioner, PCGAMG));
    check(KSPSetTolerances(solver, 1e-8, 0, PETSC_DEFAULT, 500));
    check(KSPSetFromOptions(solver));
    check(KSPSolve(solver, right_, y_));
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    check(KSPGetConvergedReason(solver, &reason));
    if (reason < 0) MPI_Abort(MPI_COMM_WORLD, 4);
    check(KSPDestroy(&solver));
  }

private:
  using Place = std::array<PetscInt, 3>;

  [[nodiscard]] bool boundary(const Place &at) const {
    return std::ranges::any_of(at, [&](PetscInt index) { return index == 0 || index == elements_; });
  }
  [[nodiscard]] double coefficient(const Place &element) const {
    return element[0] < elements_ / 2 ? 1 : jump_;
  }

  // The right-hand side of f = 1.
  void load() {
    PetscInt x = 0, y = 0, z = 0, nx = 0, ny = 0, nz = 0;
    PetscScalar ***values = nullptr;
    check(DMDAGetCorners(grid_, &x, &y, &z, &nx, &ny, &nz));
    check(DMDAVecGetArray(grid_, right_, &values));
    for (PetscInt k = z; k < z + nz; k++)
      for (PetscInt j = y; j < y + ny; j++)
        for (PetscInt i = x; i < x + nx; i++)
          values[k][j][i] = boundary({i, j, k}) ? 0 : std::pow(static_cast<double>(elements_), -3);
    check(DMDAVecRestoreArray(grid_, right_, &values));
  }

  // By rows; an element's share of a row is one of its matrix.
  void assemble() {
    PetscInt x = 0, y = 0, z = 0, nx = 0, ny = 0, nz = 0;
    check(DMDAGetCorners(grid_, &x, &y, &z, &nx, &ny, &nz));
    for (PetscInt k = z; k < z + nz; k++)
      for (PetscInt j = y; j < y + ny; j++)
        for (PetscInt i = x; i < x + nx; i++) row({i, j, k});
    check(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY));
  }

  void row(const Place &at) {
    std::array<double, 27> values{};
    std::array<MatStencil, 27> columns{};
    for (unsigned e = 0; e < 8 && !boundary(at); e++) {
      Place element{};
      unsigned mine = 0; // my corner of that element
      for (unsigned axis = 0; axis < 3; axis++) {
        const unsigned before = (e >> axis) & 1U;
        element[axis] = at[axis] - static_cast<PetscInt>(before);
        mine |= before << axis;
      }
      const double scale = coefficient(element) / static_cast<double>(elements_);
      for (unsigned b = 0; b < 8; b++) {
        Place other{};
        std::size_t slot = 0, stride = 1;
        for (unsigned axis = 0; axis < 3; axis++, stride *= 3) {
          other[axis] = element[axis] + static_cast<PetscInt>((b >> axis) & 1U);
          slot += stride * static_cast<std::size_t>(other[axis] - at[axis] + 1);
        }
        if (!boundary(other)) values[slot] += scale * unit_[mine][b];
      }
    }
    if (boundary(at)) values[13] = 1;
    for (std::size_t slot = 0; slot < 27; slot++) {
      const auto step = [&](std::size_t stride) { return static_cast<PetscInt>(slot / stride % 3) - 1; };
      MatStencil &column = columns[slot];
      column = {at[2] + step(9), at[1] + step(3), at[0] + step(1), 0};
      for (const PetscInt index : {column.i, column.j, column.k})
        if (index < 0 || index > elements_) column.i = -1; // is left out
    }
    const MatStencil here{at[2], at[1], at[0], 0};
    check(MatSetValuesStencil(matrix_, 1, &here, 27, columns.data(), values.data(), INSERT_VALUES));
  }

  PetscInt elements_;
  double jump_;
  std::array<std::array<double, 8>, 8> unit_;
  DM grid_ = nullptr;
  Mat matrix_ = nullptr;
  Vec right_ = nullptr, x_ = nullptr, y_ = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  const int elements = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 128;
  const double jump = argc > 2 ? std::strtod(argv[2], nullptr) : 1;
  PetscCall(PetscInitialize(nullptr, nullptr, nullptr, nullptr));
  {
    Problem problem(elements, jump);
    const double unknowns = std::pow(elements + 1, 3);
    turns::serve({{"matmult", {[&] { problem.multiply(); }, unknowns}},
                  {"gamg", {[&] { problem.solve(); }, unknowns, 0, 0, false}},
                  {"whole", {[&] { Problem(elements, jump).solve(); }, unknowns, 0, 0, false}}});
  }
  PetscCall(PetscFinalize());
  return 0;
}
