#include "fem/operator/plain_quadrature.hpp"

#include <p8est_lnodes.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace haloscope::fem {

namespace {

constexpr int newton_steps = 20;

struct Legendre {
  double value, slope;
};

// On [−1, 1], inside.
Legendre legendre(int degree, double x) {
  double previous = 1, value = x;
  for (int i = 2; i <= degree; i++) {
    const double next = ((2 * i - 1) * x * value - (i - 1) * previous) / i;
    previous = value;
    value = next;
  }
  return {value, degree * (x * value - previous) / (x * x - 1)};
}

void gauss(int count, std::vector<double> &points, std::vector<double> &weights) {
  for (int i = count; i-- > 0;) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5));
    for (int step = 0; step < newton_steps; step++) {
      const Legendre p = legendre(count, x);
      x -= p.value / p.slope;
    }
    const double slope = legendre(count, x).slope;
    points.push_back((1 + x) / 2);
    weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
}

// Zeros of the Legendre polynomial's slope, and both ends.
std::vector<double> gauss_lobatto(int degree) {
  std::vector<double> points{0};
  for (int i = 1; i < degree; i++) {
    double x = -std::cos(std::numbers::pi * i / degree);
    for (int step = 0; step < newton_steps; step++) {
      const Legendre p = legendre(degree, x);
      const double bend = (2 * x * p.slope - degree * (degree + 1) * p.value) / (1 - x * x);
      x -= p.slope / bend;
    }
    points.push_back((1 + x) / 2);
  }
  points.push_back(1);
  return points;
}

double lagrange(const std::vector<double> &points, std::size_t i, double x) {
  double value = 1;
  for (std::size_t j = 0; j < points.size(); j++)
    if (j != i) value *= (x - points[j]) / (points[i] - points[j]);
  return value;
}

double lagrange_slope(const std::vector<double> &points, std::size_t i, double x) {
  double sum = 0;
  for (std::size_t k = 0; k < points.size(); k++) {
    if (k == i) continue;
    double term = 1 / (points[i] - points[k]);
    for (std::size_t j = 0; j < points.size(); j++)
      if (j != i && j != k) term *= (x - points[j]) / (points[i] - points[j]);
    sum += term;
  }
  return sum;
}

} // namespace

Tabulated::Tabulated(int degree, int wanted) : nodes(degree + 1), count(wanted > 0 ? wanted : degree + 1) {
  gauss(count, points, weights);
  const std::vector<double> lobatto = gauss_lobatto(degree);
  for (const double x : points)
    for (std::size_t i = 0; i < lobatto.size(); i++) {
      values.push_back(lagrange(lobatto, i, x));
      slopes.push_back(lagrange_slope(lobatto, i, x));
    }
  for (int half = 0; half < 2; half++)
    for (const double x : lobatto)
      for (std::size_t i = 0; i < lobatto.size(); i++)
        halves[half].push_back(lagrange(lobatto, i, (x + half) / 2));
}

namespace {

using Lattice = std::array<std::size_t, 3>;

Lattice lattice(std::size_t index, int width) {
  const auto n = static_cast<std::size_t>(width);
  return {index % n, index / n % n, index / n / n};
}

std::size_t cube(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n * n); }

// The directions of interpolation at a point of the lattice, as bits, and the halves.
struct Interpolated {
  unsigned directions = 0, child = 0;
};

Interpolated interpolated(const Tabulated &table, std::uint16_t code, const Lattice &at) {
  int faces[6], edges[12];
  if (p8est_lnodes_decode(static_cast<p8est_lnodes_code_t>(code), faces, edges) == 0) return {};
  const std::size_t last = static_cast<std::size_t>(table.nodes) - 1;
  const auto on_side = [&](int direction, int side) {
    return at[static_cast<std::size_t>(direction)] == (side == 0 ? 0 : last);
  };
  const unsigned child = code & 7U;
  for (int face = 0; face < 6; face++)
    if (faces[face] >= 0 && on_side(face / 2, face % 2)) return {7U & ~(1U << (face / 2)), child};
  for (int edge = 0; edge < 12; edge++) {
    const int along = edge / 4, first = along == 0 ? 1 : 0, second = along == 2 ? 1 : 2;
    const bool hangs = edges[edge] >= 0 && edges[edge] < 4;
    if (hangs && on_side(first, edge % 2) && on_side(second, edge / 2 % 2)) return {1U << along, child};
  }
  return {};
}

} // namespace

Mapping::Mapping(Corners corners, const Point &at) {
  double jacobian[3][3]{};
  for (unsigned corner = 0; corner < 8; corner++) {
    double factor[3], sign[3];
    for (unsigned d = 0; d < 3; d++) {
      const bool upper = (corner >> d & 1U) != 0;
      factor[d] = upper ? at[d] : 1 - at[d];
      sign[d] = upper ? 1 : -1;
    }
    for (unsigned i = 0; i < 3; i++) {
      const double x = corners[3 * corner + i];
      jacobian[i][0] += sign[0] * factor[1] * factor[2] * x;
      jacobian[i][1] += factor[0] * sign[1] * factor[2] * x;
      jacobian[i][2] += factor[0] * factor[1] * sign[2] * x;
    }
  }
  const auto minor = [&](unsigned i, unsigned j) { // cofactor of row i, column j
    const unsigned r = (i + 1) % 3, s = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
    return jacobian[r][c] * jacobian[s][d] - jacobian[r][d] * jacobian[s][c];
  };
  for (unsigned j = 0; j < 3; j++) determinant += jacobian[0][j] * minor(0, j);
  for (unsigned i = 0; i < 3; i++)
    for (unsigned j = 0; j < 3; j++) inverse[i][j] = minor(j, i) / determinant;
}

double shape(const Tabulated &table, int direction, std::size_t quadrature, std::size_t node) {
  const Lattice q = lattice(quadrature, table.count), n = lattice(node, table.nodes);
  double product = 1;
  for (unsigned d = 0; d < 3; d++) {
    const auto &values = static_cast<int>(d) == direction ? table.slopes : table.values;
    product *= values[q[d] * static_cast<std::size_t>(table.nodes) + n[d]];
  }
  return product;
}

Point quadrature_point(const Tabulated &table, std::size_t quadrature) {
  const Lattice q = lattice(quadrature, table.count);
  return {table.points[q[0]], table.points[q[1]], table.points[q[2]]};
}

double quadrature_weight(const Tabulated &table, std::size_t quadrature) {
  const Lattice q = lattice(quadrature, table.count);
  return table.weights[q[0]] * table.weights[q[1]] * table.weights[q[2]];
}

std::vector<double> element_matrix(const Tabulated &table, Corners corners, std::span<const double> kappa,
                                   Part part) {
  const std::size_t size = cube(table.nodes);
  std::vector<double> matrix(size * size), values(size), slopes(3 * size);
  for (std::size_t q = 0; q < cube(table.count); q++) {
    const Mapping map(corners, quadrature_point(table, q));
    const double weight =
        quadrature_weight(table, q) * map.determinant * (kappa.size() == 1 ? kappa[0] : kappa[q]);
    for (std::size_t a = 0; a < size; a++) {
      values[a] = shape(table, -1, q, a);
      for (unsigned j = 0; j < 3; j++) {
        slopes[j * size + a] = 0;
        for (unsigned i = 0; i < 3; i++)
          slopes[j * size + a] += shape(table, static_cast<int>(i), q, a) * map.inverse[i][j];
      }
    }
    const auto add = [&](const double *rows, const double *columns) {
      for (std::size_t a = 0; a < size; a++)
        for (std::size_t b = 0; b < size; b++) matrix[a * size + b] += weight * rows[a] * columns[b];
    };
    if (part == Part::stiffness)
      for (unsigned j = 0; j < 3; j++) add(slopes.data() + j * size, slopes.data() + j * size);
    else if (part == Part::mass)
      add(values.data(), values.data());
    else
      add(values.data(),
          slopes.data() + (static_cast<unsigned>(part) - static_cast<unsigned>(Part::derivative_x)) * size);
  }
  return matrix;
}

std::vector<double> constraint_matrix(const Tabulated &table, std::uint16_t code) {
  if (code == 0) return {};
  const std::size_t size = cube(table.nodes);
  std::vector<double> matrix(size * size);
  for (std::size_t row = 0; row < size; row++) {
    const Lattice at = lattice(row, table.nodes);
    const Interpolated from = interpolated(table, code, at);
    for (std::size_t column = 0; column < size; column++) {
      const Lattice other = lattice(column, table.nodes);
      double product = 1;
      for (unsigned d = 0; d < 3; d++) {
        const auto &half = table.halves[from.child >> d & 1U];
        const bool along = (from.directions >> d & 1U) != 0;
        product *= along ? half[at[d] * static_cast<std::size_t>(table.nodes) + other[d]]
                         : static_cast<double>(at[d] == other[d]);
      }
      matrix[row * size + column] = product;
    }
  }
  return matrix;
}

} // namespace haloscope::fem
