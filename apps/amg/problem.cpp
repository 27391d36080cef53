#include "problem.hpp"

#include <vector>

namespace amg {

HYPRE_BigInt Grid::number(Int3 point) const {
  Int3 away{0, 0, 0};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (point[axis] < 0) away[axis] = -1;
    if (point[axis] >= points_[axis]) away[axis] = 1;
    point[axis] -= away[axis] * points_[axis];
  }
  const int owner = ranks_.neighbour(away);
  if (owner < 0) return -1;
  return static_cast<HYPRE_BigInt>(owner) * local() +
         (static_cast<HYPRE_BigInt>(point[2]) * points_[1] + point[1]) * points_[0] + point[0];
}

namespace {

// A row's entries by how many coordinates differ; 0 where there is none.
using Stencil = std::array<double, 4>;

Stencil stencil(const Parameters &p) {
  if (p.is_27_point()) return {26, -4, -0.15, -0.0125};
  // Thin grids are planes and lines, as far as each rank sees.
  int thin = 0;
  for (const int n : p.points) thin += n == 1 ? 1 : 0;
  return {thin == 0 ? 6.0 : thin == 1 ? 4.0 : 2.0, -1, 0, 0};
}

// Rows in the form that hypre takes them: entries of each, and of these in columns of this rank and of
// others.
struct Rows {
  std::vector<HYPRE_BigInt> numbers, columns;
  std::vector<HYPRE_Int> lengths, here, elsewhere;
  std::vector<double> values;
};

constexpr std::array<int, 3> steps{-1, 0, 1};

// The diagonal comes first, then the neighbours by their place: results are alike to the last bit only if
// sums are formed in one order.
void append_row(const Grid &grid, const Stencil &values, Int3 point, Rows &rows) {
  const HYPRE_BigInt own = grid.number(point);
  HYPRE_Int here = 1, elsewhere = 0;
  rows.numbers.push_back(own);
  rows.columns.push_back(own);
  rows.values.push_back(values[0]);
  for (const int z : steps)
    for (const int y : steps)
      for (const int x : steps) {
        const std::size_t differing = (x != 0 ? 1U : 0U) + (y != 0 ? 1U : 0U) + (z != 0 ? 1U : 0U);
        if (differing == 0 || values[differing] == 0) continue;
        const HYPRE_BigInt column = grid.number({point[0] + x, point[1] + y, point[2] + z});
        if (column < 0) continue;
        rows.columns.push_back(column);
        rows.values.push_back(values[differing]);
        ++(column >= grid.first() && column <= grid.last() ? here : elsewhere);
      }
  rows.lengths.push_back(here + elsewhere);
  rows.here.push_back(here);
  rows.elsewhere.push_back(elsewhere);
}

Rows plane(const Grid &grid, const Stencil &values, int z) {
  Rows rows;
  for (int y = 0; y < grid.points()[1]; ++y)
    for (int x = 0; x < grid.points()[0]; ++x) append_row(grid, values, {x, y, z}, rows);
  return rows;
}

// Informs hypre of the memory that rows need.
void announce(const Grid &grid, const Stencil &values, HYPRE_IJMatrix matrix) {
  std::vector<HYPRE_Int> here, elsewhere;
  for (int z = 0; z < grid.points()[2]; ++z) {
    const Rows rows = plane(grid, values, z);
    here.insert(here.end(), rows.here.begin(), rows.here.end());
    elsewhere.insert(elsewhere.end(), rows.elsewhere.begin(), rows.elsewhere.end());
  }
  require(HYPRE_IJMatrixSetDiagOffdSizes(matrix, here.data(), elsewhere.data()), "memory for the matrix");
}

} // namespace

Matrix make_matrix(const Grid &grid, const Parameters &p) {
  HYPRE_IJMatrix made = nullptr;
  require(HYPRE_IJMatrixCreate(MPI_COMM_WORLD, grid.first(), grid.last(), grid.first(), grid.last(), &made),
          "a matrix");
  Matrix matrix(made);
  HYPRE_IJMatrixSetObjectType(made, HYPRE_PARCSR);
  const Stencil values = stencil(p);
  // Twice, plane by plane, so that there is never a second copy of the whole matrix.
  announce(grid, values, made);
  require(HYPRE_IJMatrixInitialize(made), "memory for the matrix");
  for (int z = 0; z < grid.points()[2]; ++z) {
    Rows rows = plane(grid, values, z);
    require(HYPRE_IJMatrixSetValues(made, static_cast<HYPRE_Int>(rows.lengths.size()), rows.lengths.data(),
                                    rows.numbers.data(), rows.columns.data(), rows.values.data()),
            "values of the matrix");
  }
  require(HYPRE_IJMatrixAssemble(made), "assembling the matrix");
  return matrix;
}

Vector make_vector(const Grid &grid, double value) {
  HYPRE_IJVector made = nullptr;
  require(HYPRE_IJVectorCreate(MPI_COMM_WORLD, grid.first(), grid.last(), &made), "a vector");
  Vector vector(made);
  HYPRE_IJVectorSetObjectType(made, HYPRE_PARCSR);
  require(HYPRE_IJVectorInitialize(made), "a vector");
  const std::vector<double> values(static_cast<std::size_t>(grid.local()), value);
  require(HYPRE_IJVectorSetValues(made, grid.local(), nullptr, values.data()), "values of a vector");
  require(HYPRE_IJVectorAssemble(made), "assembling a vector");
  return vector;
}

} // namespace amg
