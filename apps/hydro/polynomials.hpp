// Polynomials along one axis of a zone, on the reference interval from 0 to 1. For velocity and position:
// those that are 1 at one Gauss-Lobatto point and 0 at the others. For internal energy: Bernstein's.
#ifndef APPS_HYDRO_POLYNOMIALS_HPP
#define APPS_HYDRO_POLYNOMIALS_HPP

#include <vector>

namespace hydro {

using Vector = std::vector<double>;

// Points and weights of an integration rule.
struct Rule {
  Vector points, weights;

  int size() const { return static_cast<int>(points.size()); }
};

// The rule of Gauss and Legendre: n points, exact up to the order 2n - 1.
Rule gauss_rule(int points);

// Both ends and the extrema of the Legendre polynomial of `order` (at least 1).
Vector lobatto_points(int order);

// A matrix by rows, with its transpose.
struct Table {
  int rows = 0, columns = 0;
  Vector entries, transposed;
};

Table make_table(int rows, int columns, Vector entries);

// Values, and derivatives, of the basis (columns) at `points` (rows).
Table lobatto_values(int order, const Vector &points);
Table lobatto_slopes(int order, const Vector &points);
Table bernstein_values(int order, const Vector &points);

// From values at the Gauss points of `order` + 1 to Bernstein coefficients.
Table bernstein_from_gauss(int order);

} // namespace hydro

#endif
