// Positions of nodes. A hanging element's nodes on a large face or edge are placed by its parent, whose
// corners there are corners of the large neighbour.
#include "fem/kernels/basis.hpp"
#include "fem/mesh/communicator.hpp"
#include "fem/mesh/forest.hpp"
#include "fem/mesh/hanging.hpp"
#include "fem/mesh/nodes.hpp"

#include <cmath>
#include <string>

namespace haloscope::fem {

namespace {

using Lattice = std::array<int, 3>;

std::vector<Lattice> lattice(int degree) {
  std::vector<Lattice> points;
  for (int z = 0; z <= degree; z++)
    for (int y = 0; y <= degree; y++)
      for (int x = 0; x <= degree; x++) points.push_back({x, y, z});
  return points;
}

// An element before the deformation, and its parent.
struct Cell {
  Cell(const Forest &forest, const Leaf &leaf, std::uint16_t code)
      : hanging(code), corner(forest.corner(leaf)), edge(forest.size(leaf)), parent(corner) {
    for (unsigned d = 0; d < 3; d++)
      if ((hanging.child >> d & 1U) != 0) parent.at(d) -= edge;
  }

  [[nodiscard]] Point place(const Lattice &at, const std::vector<double> &interval) const {
    const int degree = static_cast<int>(interval.size()) - 1;
    Point point{};
    for (unsigned d = 0; d < 3; d++) {
      const double along = interval[static_cast<std::size_t>(at.at(d))];
      point.at(d) = hanging.line(static_cast<int>(d), at, degree) ? parent.at(d) + 2 * edge * along
                                                                  : corner.at(d) + edge * along;
    }
    return point;
  }

  Hanging hanging;
  Point corner;
  double edge;
  Point parent;
};

using Corners = std::array<double, 24>;

// The parent's corners. Those on a hanging face or edge are nodes; the others are placed as if they were.
Corners deformed_parent(const Forest &forest, const Cell &cell) {
  Corners corners{};
  for (std::size_t i = 0; i < 8; i++) {
    Point at = cell.parent;
    for (std::size_t d = 0; d < 3; d++) at.at(d) += (i >> d & 1U) != 0 ? 2 * cell.edge : 0;
    const Point image = forest.deformed(at);
    for (std::size_t d = 0; d < 3; d++) corners.at(3 * i + d) = image.at(d);
  }
  return corners;
}

Corners deformed_corners(const Forest &forest, const Cell &cell, const Constraint &constraint,
                         std::uint16_t code) {
  static const std::vector<Lattice> ends = lattice(1);
  static const std::vector<double> interval{0, 1};
  std::array<std::array<double, 8>, 3> values{};
  for (std::size_t i = 0; i < 8; i++) {
    const Point image = forest.deformed(cell.place(ends[i], interval));
    for (std::size_t d = 0; d < 3; d++) values.at(d).at(i) = image.at(d);
  }
  Corners corners{};
  for (std::size_t d = 0; d < 3; d++) {
    constraint.apply(code, values.at(d));
    for (std::size_t i = 0; i < 8; i++) corners.at(3 * i + d) = values.at(d).at(i);
  }
  return corners;
}

std::string text(const Point &point) {
  return "(" + std::to_string(point[0]) + ", " + std::to_string(point[1]) + ", " + std::to_string(point[2]) +
         ")";
}

} // namespace

std::vector<double> Nodes::corners(const Forest &forest) const {
  const Constraint constraint(1);
  std::vector<double> all;
  all.reserve(24 * faces_.size());
  for (std::size_t element = 0; element < faces_.size(); element++) {
    const Cell cell(forest, forest.leaves()[element], faces_[element]);
    const Corners corners = deformed_corners(forest, cell, constraint, faces_[element]);
    all.insert(all.end(), corners.begin(), corners.end());
  }
  return all;
}

std::vector<Point> Nodes::points(const Forest &forest) const {
  const std::vector<double> interval = lobatto_points(degree_);
  const std::vector<Lattice> positions = lattice(degree_);
  const Constraint constraint(1);
  std::vector<Point> points(local());
  const std::int32_t *node = element_nodes_.data();
  for (std::size_t element = 0; element < faces_.size(); element++) {
    const Cell cell(forest, forest.leaves()[element], faces_[element]);
    if (forest.cubes() && faces_[element] == 0) {
      for (const Lattice &at : positions) {
        Point &point = points[static_cast<std::size_t>(*node++)];
        for (std::size_t d = 0; d < 3; d++)
          point.at(d) = cell.corner.at(d) + cell.edge * interval[static_cast<std::size_t>(at.at(d))];
      }
      continue;
    }
    Corners own{}, parents{};
    if (!forest.cubes()) {
      own = deformed_corners(forest, cell, constraint, faces_[element]);
      parents = deformed_parent(forest, cell);
    }
    for (const Lattice &at : positions) {
      Point &point = points[static_cast<std::size_t>(*node++)];
      point = cell.place(at, interval);
      if (forest.cubes()) continue;
      const bool large = cell.hanging.point(at, degree_);
      const Point &origin = large ? cell.parent : cell.corner;
      for (std::size_t d = 0; d < 3; d++)
        point.at(d) = (point.at(d) - origin.at(d)) / (large ? 2 * cell.edge : cell.edge);
      point = trilinear(large ? parents : own, point);
    }
  }
  return points;
}

// Nodes are looked at one by one, as an element may touch the boundary only by a large edge that it reads.
std::vector<std::uint8_t> Nodes::boundary(const Forest &forest) const {
  const std::vector<Lattice> positions = lattice(degree_);
  std::vector<std::uint8_t> boundary(local(), 0);
  const std::int32_t *node = element_nodes_.data();
  for (std::size_t element = 0; element < faces_.size(); element++) {
    const Leaf &leaf = forest.leaves()[element];
    const unsigned own = forest.boundary(leaf);
    if (own == 0 && faces_[element] == 0) {
      node += positions.size();
      continue;
    }
    const Hanging hanging(faces_[element]);
    Leaf parent = leaf; // the lower corner of its parent, and its level
    parent.level = static_cast<std::int8_t>(leaf.level - 1);
    const std::int32_t width = 1 << (root_bits - leaf.level);
    parent.x &= ~width, parent.y &= ~width, parent.z &= ~width;
    const unsigned parents = faces_[element] != 0 ? forest.boundary(parent) : 0;
    for (const Lattice &at : positions) {
      const auto i = static_cast<std::size_t>(*node++);
      for (unsigned d = 0; d < 3; d++) {
        const unsigned sides = hanging.line(static_cast<int>(d), at, degree_) ? parents : own;
        const bool outer = (at.at(d) == 0 && (sides >> (2 * d) & 1U) != 0) ||
                           (at.at(d) == degree_ && (sides >> (2 * d) & 2U) != 0);
        if (outer) boundary[i] = 1;
      }
    }
  }
  return boundary;
}

void Nodes::check(const Forest &forest) const {
  std::vector<double> places = gauss_points(degree_ + 1);
  places.push_back(0), places.push_back(1);
  const std::vector<double> corners = this->corners(forest);
  std::string wrong;
  for (std::size_t element = 0; element < faces_.size() && wrong.empty(); element++) {
    const std::span<const double, 24> own(corners.data() + 24 * element, 24);
    for (const double z : places)
      for (const double y : places)
        for (const double x : places)
          if (!(determinant(own, {x, y, z}) > 0)) // also what is not a number
            wrong = "the deformation inverts the element whose lower corner was " +
                    text(forest.corner(forest.leaves()[element])) + ": refine less there or deform less";
  }
  agree(communicator_, wrong);
}

} // namespace haloscope::fem
