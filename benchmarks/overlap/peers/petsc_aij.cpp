// PETSc's assembled operator of −∇·(κ∇u) = f, Q1 on a cube of n³ elements with Dirichlet conditions: 27
// numbers per row. Problems are poisson's own: κ with a jump, one number per element, or a smooth κ at the
// quadrature points; f at the nodes. Cases: "matmult", a product; "gamg", conjugate gradients with GAMG from
// its setup to 1e-8; "whole", the same with grid, matrix and right-hand side. Arguments: n, jump (0: the
// smooth κ).
#include <petscdmda.h>
#include <petscksp.h>

#include "fem/operator/model_problem.hpp"
#include "turns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

namespace {

void check(PetscErrorCode error) {
  if (error != 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

using haloscope::fem::Point;
using ElementMatrix = std::array<std::array<double, 8>, 8>; // nodes by bits x, y, z

// Matrices of an element with edges of length 1: by tensor products, and at one of the eight Gauss points.
constexpr double stiff[2][2] = {{1, -1}, {-1, 1}}, mass[2][2] = {{2 / 6., 1 / 6.}, {1 / 6., 2 / 6.}};

ElementMatrix products() {
  ElementMatrix made{};
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

std::size_t place_of(PetscInt index) { return static_cast<std::size_t>(index); }

double gauss(unsigned point, unsigned axis) {
  return 0.5 + ((point >> axis & 1U) != 0 ? 0.5 : -0.5) / std::numbers::sqrt3;
}

std::array<ElementMatrix, 8> at_points() {
  std::array<ElementMatrix, 8> made{};
  for (unsigned point = 0; point < 8; point++) {
    const auto slope = [&](unsigned node, unsigned along) {
      double product = 1;
      for (unsigned axis = 0; axis < 3; axis++) {
        const bool upper = (node >> axis & 1U) != 0;
        const double at = gauss(point, axis);
        product *= axis == along ? (upper ? 1 : -1) : (upper ? at : 1 - at);
      }
      return product;
    };
    for (unsigned a = 0; a < 8; a++)
      for (unsigned b = 0; b < 8; b++)
        for (unsigned along = 0; along < 3; along++)
          made[point][a][b] += slope(a, along) * slope(b, along) / 8;
  }
  return made;
}

class Problem {
public:
  Problem(PetscInt elements, double jump)
      : elements_(elements),
        known_(jump > 0 ? haloscope::fem::jump_problem(jump) : haloscope::fem::smooth_problem()) {
    const PetscInt points = elements + 1;
    // Slices, so that ranks have the same halves as in the other programs.
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

  // The error of the last solution: root mean square at the nodes.
  double error() {
    PetscInt x = 0, y = 0, z = 0, nx = 0, ny = 0, nz = 0;
    PetscScalar ***values = nullptr;
    check(DMDAGetCorners(grid_, &x, &y, &z, &nx, &ny, &nz));
    check(DMDAVecGetArray(grid_, y_, &values));
    double sum = 0;
    for (PetscInt k = z; k < z + nz; k++)
      for (PetscInt j = y; j < y + ny; j++)
        for (PetscInt i = x; i < x + nx; i++)
          sum += std::pow(values[k][j][i] - known_.solution(point({i, j, k}, {})), 2);
    check(DMDAVecRestoreArray(grid_, y_, &values));
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
    return std::sqrt(sum * std::pow(static_cast<double>(elements_), -3));
  }

private:
  using Place = std::array<PetscInt, 3>;

  [[nodiscard]] bool boundary(const Place &at) const {
    return std::ranges::any_of(at, [&](PetscInt index) { return index == 0 || index == elements_; });
  }
  // `at` is a position in the element, 0 to 1.
  [[nodiscard]] Point point(const Place &element, const Point &at) const {
    Point made{};
    for (std::size_t axis = 0; axis < 3; axis++)
      made[axis] = (static_cast<double>(element[axis]) + at[axis]) / static_cast<double>(elements_);
    return made;
  }

  // The mass of f's values at the nodes.
  void load() {
    const double volume = std::pow(static_cast<double>(elements_), -3);
    PetscInt x = 0, y = 0, z = 0, nx = 0, ny = 0, nz = 0;
    PetscScalar ***values = nullptr;
    check(DMDAGetCorners(grid_, &x, &y, &z, &nx, &ny, &nz));
    // f once per node, with a layer of neighbours.
    const PetscInt wide = nx + 2, high = ny + 2;
    std::vector<double> f(static_cast<std::size_t>(wide) * static_cast<std::size_t>(high) *
                          static_cast<std::size_t>(nz + 2));
    const auto place = [&](PetscInt i, PetscInt j, PetscInt k) {
      return place_of(((k - z + 1) * high + (j - y + 1)) * wide + i - x + 1);
    };
    for (PetscInt k = std::max<PetscInt>(z - 1, 0); k < std::min(z + nz + 1, elements_ + 1); k++)
      for (PetscInt j = std::max<PetscInt>(y - 1, 0); j < std::min(y + ny + 1, elements_ + 1); j++)
        for (PetscInt i = std::max<PetscInt>(x - 1, 0); i < std::min(x + nx + 1, elements_ + 1); i++)
          f[place(i, j, k)] = known_.load(point({i, j, k}, {}));
    constexpr double line[3] = {1 / 6., 4 / 6., 1 / 6.};
    check(DMDAVecGetArray(grid_, right_, &values));
    for (PetscInt k = z; k < z + nz; k++)
      for (PetscInt j = y; j < y + ny; j++)
        for (PetscInt i = x; i < x + nx; i++) {
          double sum = 0;
          for (int c = 0; c < 3 && !boundary({i, j, k}); c++)
            for (int b = 0; b < 3; b++)
              for (int a = 0; a < 3; a++)
                sum += line[a] * line[b] * line[c] * f[place(i + a - 1, j + b - 1, k + c - 1)];
          values[k][j][i] = sum * volume;
        }
    check(DMDAVecRestoreArray(grid_, right_, &values));
  }

  // κ times the element's matrix, without the length of its edges.
  [[nodiscard]] ElementMatrix element_matrix(const Place &element) const {
    ElementMatrix made{};
    if (!known_.coefficient.pointwise) {
      const double kappa = known_.coefficient.value(point(element, {0.5, 0.5, 0.5}));
      for (unsigned a = 0; a < 8; a++)
        for (unsigned b = 0; b < 8; b++) made[a][b] = kappa * unit_[a][b];
      return made;
    }
    for (unsigned q = 0; q < 8; q++) {
      const double kappa = known_.coefficient.value(point(element, {gauss(q, 0), gauss(q, 1), gauss(q, 2)}));
      for (unsigned a = 0; a < 8; a++)
        for (unsigned b = 0; b < 8; b++) made[a][b] += kappa * points_[q][a][b];
    }
    return made;
  }

  // Assembles by rows, which is fastest in PETSc. Two layers of elements are stored; each is computed once.
  void assemble() {
    PetscInt x = 0, y = 0, z = 0, nx = 0, ny = 0, nz = 0;
    check(DMDAGetCorners(grid_, &x, &y, &z, &nx, &ny, &nz));
    std::array<std::vector<ElementMatrix>, 2> layers; // of elements below and above a plane of nodes
    const auto fill = [&](std::vector<ElementMatrix> &layer, PetscInt k) {
      layer.assign(static_cast<std::size_t>(nx + 1) * static_cast<std::size_t>(ny + 1), {});
      for (PetscInt j = std::max<PetscInt>(y - 1, 0); j < std::min(y + ny, elements_); j++)
        for (PetscInt i = std::max<PetscInt>(x - 1, 0); i < std::min(x + nx, elements_); i++)
          if (k >= 0 && k < elements_)
            layer[place_of((j - y + 1) * (nx + 1) + i - x + 1)] = element_matrix({i, j, k});
    };
    fill(layers[1], z - 1);
    for (PetscInt k = z; k < z + nz; k++) {
      layers[0].swap(layers[1]);
      fill(layers[1], k);
      for (PetscInt j = y; j < y + ny; j++)
        for (PetscInt i = x; i < x + nx; i++)
          row({i, j, k}, [&](const Place &element) -> const ElementMatrix & {
            return layers[place_of(element[2] - k + 1)]
                         [place_of((element[1] - y + 1) * (nx + 1) + element[0] - x + 1)];
          });
    }
    check(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY));
  }

  template <class Of> void row(const Place &at, Of of) {
    std::array<double, 27> values{};
    std::array<MatStencil, 27> columns{};
    const double edge = 1 / static_cast<double>(elements_);
    for (unsigned e = 0; e < 8 && !boundary(at); e++) {
      Place element{};
      unsigned mine = 0; // this node's corner of that element
      for (unsigned axis = 0; axis < 3; axis++) {
        const unsigned before = (e >> axis) & 1U;
        element[axis] = at[axis] - static_cast<PetscInt>(before);
        mine |= before << axis;
      }
      const ElementMatrix &matrix = of(element);
      for (unsigned b = 0; b < 8; b++) {
        Place other{};
        std::size_t slot = 0, stride = 1;
        for (unsigned axis = 0; axis < 3; axis++, stride *= 3) {
          other[axis] = element[axis] + static_cast<PetscInt>((b >> axis) & 1U);
          slot += stride * static_cast<std::size_t>(other[axis] - at[axis] + 1);
        }
        if (!boundary(other)) values[slot] += edge * matrix[mine][b];
      }
    }
    if (boundary(at)) values[13] = 1;
    for (std::size_t slot = 0; slot < 27; slot++) {
      const auto step = [&](std::size_t stride) { return static_cast<PetscInt>(slot / stride % 3) - 1; };
      MatStencil &column = columns[slot];
      column = {at[2] + step(9), at[1] + step(3), at[0] + step(1), 0};
      for (const PetscInt index : {column.i, column.j, column.k})
        if (index < 0 || index > elements_) column.i = -1; // is ignored
    }
    const MatStencil here{at[2], at[1], at[0], 0};
    check(MatSetValuesStencil(matrix_, 1, &here, 27, columns.data(), values.data(), INSERT_VALUES));
  }

  PetscInt elements_;
  haloscope::fem::Problem known_;
  ElementMatrix unit_ = products();
  std::array<ElementMatrix, 8> points_ = at_points();
  DM grid_ = nullptr;
  Mat matrix_ = nullptr;
  Vec right_ = nullptr, x_ = nullptr, y_ = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  const int elements = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 128;
  const double jump = argc > 2 ? std::strtod(argv[2], nullptr) : 1;
  const auto say = [](double error) { check(PetscPrintf(PETSC_COMM_WORLD, "error %.3e\n", error)); };
  PetscCall(PetscInitialize(nullptr, nullptr, nullptr, nullptr));
  {
    Problem problem(elements, jump);
    const double unknowns = std::pow(elements + 1, 3);
    turns::serve({{"matmult", {[&] { problem.multiply(); }, unknowns}},
                  {"gamg", {[&] { problem.solve(); }, unknowns, 0, 0, false}},
                  {"whole", {[&] { Problem(elements, jump).solve(); }, unknowns, 0, 0, false}},
                  {"error", {[&] { problem.solve(), say(problem.error()); }, unknowns, 0, 0, false}}});
  }
  PetscCall(PetscFinalize());
  return 0;
}
