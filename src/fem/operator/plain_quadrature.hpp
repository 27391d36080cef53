// Elements by plain quadrature: their geometry, their matrix, what their hanging nodes are. It is the oracle
// of the fast kernels, with which it shares nothing.
#pragma once

#include "fem/kernels/cells.hpp"
#include "fem/mesh/forest.hpp"
#include "fem/mesh/nodes.hpp"

#include <array>
#include <span>
#include <vector>

namespace haloscope::fem {

// Polynomials through Gauss-Lobatto points, tabulated at Gauss points of [0, 1]; plain, to be read and to
// be compared with.
struct Tabulated {
  // `wanted` Gauss points; 0: degree + 1.
  explicit Tabulated(int degree, int wanted = 0);

  int nodes, count;                    // degree + 1 and quadrature points
  std::vector<double> points, weights; // of the quadrature
  std::vector<double> values, slopes;  // count × nodes
  // At the lower or upper half's Gauss-Lobatto points: nodes × nodes each.
  std::vector<double> halves[2];
};

using Corners = std::span<const double, 24>; // x fastest, xyz each

// The trilinear map's Jacobian at a point of the unit cube.
struct Mapping {
  Mapping(Corners corners, const Point &at);
  double determinant = 0;
  double inverse[3][3]{}; // [i][j]: of coordinate i of the cube by coordinate j of space
};

// A node's function at a point of the quadrature, both numbered with x fastest: returns its value for
// direction −1, else its slope on the unit cube.
[[nodiscard]] double shape(const Tabulated &table, int direction, std::size_t quadrature, std::size_t node);
[[nodiscard]] Point quadrature_point(const Tabulated &table, std::size_t quadrature);
[[nodiscard]] double quadrature_weight(const Tabulated &table, std::size_t quadrature);

// Rows and columns (k+1)^3; `kappa` is one number, or one a quadrature point.
[[nodiscard]] std::vector<double> element_matrix(const Tabulated &table, Corners corners,
                                                 std::span<const double> kappa, Part part);

// The matrix that makes an element's values of those of its nodes: (k+1)^3 square, by p8est's face code;
// empty for 0.
[[nodiscard]] std::vector<double> constraint_matrix(const Tabulated &table, std::uint16_t code);

// The corners of elements: computed where they are cubes, else kept.
class Geometry {
public:
  Geometry(const Forest &forest, const Nodes &nodes) : forest_(&forest) {
    if (!forest.cubes()) corners_ = nodes.corners(forest);
  }

  [[nodiscard]] std::array<double, 24> corners(std::size_t element) const {
    std::array<double, 24> corners{};
    if (!corners_.empty()) {
      std::copy_n(corners_.begin() + static_cast<std::ptrdiff_t>(24 * element), 24, corners.begin());
      return corners;
    }
    const Leaf &leaf = forest_->leaves()[element];
    const Point low = forest_->corner(leaf);
    const double size = forest_->size(leaf);
    for (std::size_t corner = 0; corner < 8; corner++)
      for (std::size_t d = 0; d < 3; d++)
        corners[3 * corner + d] = low[d] + ((corner >> d & 1U) != 0 ? size : 0);
    return corners;
  }
  // The position of a point of the unit cube.
  [[nodiscard]] Point point(std::size_t element, const Point &at) const {
    if (!corners_.empty())
      return trilinear(std::span<const double, 24>(corners_.data() + 24 * element, 24), at);
    const Leaf &leaf = forest_->leaves()[element];
    const double size = forest_->size(leaf);
    Point point = forest_->corner(leaf);
    for (std::size_t d = 0; d < 3; d++) point[d] += size * at[d];
    return point;
  }
  // How much larger than the unit cube the element is there.
  [[nodiscard]] double volume(std::size_t element, const Point &at) const {
    if (!corners_.empty())
      return determinant(std::span<const double, 24>(corners_.data() + 24 * element, 24), at);
    const double size = forest_->size(forest_->leaves()[element]);
    return size * size * size;
  }
  // The corners of all elements; empty if they are cubes.
  [[nodiscard]] const std::vector<double> &all() const noexcept { return corners_; }

private:
  const Forest *forest_;
  std::vector<double> corners_;
};

} // namespace haloscope::fem
