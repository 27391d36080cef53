// Polynomials of one direction on [0, 1]: Gauss-Lobatto nodes, Gauss points, and matrices between them.
#pragma once

#include <cstddef>
#include <vector>

namespace haloscope::fem {

[[nodiscard]] std::vector<double> lobatto_points(int degree); // degree + 1, with both ends
[[nodiscard]] std::vector<double> gauss_points(int count);
// Values at x, or derivatives, of the polynomials that are 1 at one of the points and 0 at the others.
[[nodiscard]] std::vector<double> lagrange(const std::vector<double> &points, double x);
[[nodiscard]] std::vector<double> lagrange_derivatives(const std::vector<double> &points, double x);

} // namespace haloscope::fem

namespace haloscope::fem::kernels {

// Square, row after row.
struct Matrix {
  explicit Matrix(int size)
      : size(size), values(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}
  double &operator()(int row, int column) { return values[at(row, column)]; }
  double operator()(int row, int column) const { return values[at(row, column)]; }
  Matrix transposed() const;

  int size;
  std::vector<double> values;

private:
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(size) + static_cast<std::size_t>(column);
  }
};

struct Basis {
  explicit Basis(int degree);

  int degree;
  std::vector<double> nodes;           // degree + 1 Gauss-Lobatto
  std::vector<double> points, weights; // degree + 1 Gauss
  Matrix interpolate;                  // values at points from values at nodes
  Matrix derive;                       // derivatives at points from values at points
  Matrix stiffness, mass;              // between nodes, exact
  // stiffness = modesᵀ diag(eigenvalues) modes and mass = modesᵀ modes; mode m is even or odd as m is.
  Matrix modes;
  std::vector<double> eigenvalues;
  Matrix lower, upper; // values at the nodes of the half [0, 1/2], [1/2, 1] from values at nodes
};

// Returns the ascending eigenvalues of A v = λ B v, where both are also symmetric about the middle. Sets rows
// of `modes` so that A = modesᵀ diag(λ) modes and B = modesᵀ modes, even and odd alternately.
std::vector<double> diagonalise(const Matrix &a, const Matrix &b, Matrix &modes);

} // namespace haloscope::fem::kernels
