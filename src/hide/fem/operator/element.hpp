// One element by plain quadrature: its geometry, its matrix, what its hanging nodes are. The oracle of the
// fast kernels, with which it shares nothing.
#pragma once

#include "hide/fem/kernels/cells.hpp"
#include "hide/fem/mesh/forest.hpp"
#include "hide/fem/operator/tabulated.hpp"

#include <span>
#include <vector>

namespace haloscope::fem {

using Corners = std::span<const double, 24>; // x fastest, xyz each

// The trilinear map at a point of the unit cube.
struct Mapping {
  Mapping(Corners corners, const Point &at);
  Point point{};
  double determinant = 0;
  double inverse[3][3]{}; // [i][j]: of coordinate i of the cube by coordinate j of space
};

// Of a node's function at a point of the quadrature, both numbered with x fastest: its value for
// direction −1, else its slope on the unit cube.
[[nodiscard]] double shape(const Tabulated &table, int direction, std::size_t quadrature, std::size_t node);
[[nodiscard]] Point quadrature_point(const Tabulated &table, std::size_t quadrature);
[[nodiscard]] double quadrature_weight(const Tabulated &table, std::size_t quadrature);

// Rows and columns (k+1)^3; `kappa` is one number, or one a quadrature point.
[[nodiscard]] std::vector<double> element_matrix(const Tabulated &table, Corners corners,
                                                 std::span<const double> kappa, Part part);

// What an element's values are of those of its nodes: (k+1)^3 square, by p8est's face code; empty for 0.
[[nodiscard]] std::vector<double> constraint_matrix(const Tabulated &table, std::uint16_t code);

} // namespace haloscope::fem
