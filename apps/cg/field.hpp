// A rank's block of the grid: nx × ny × nz own points inside one layer of ghost points. Own points have
// indices 1…n in each direction. A ghost outside the whole grid is always zero, which is the problem's
// boundary condition; the others hold what the last halo exchange brought.
#ifndef APPS_CG_FIELD_HPP
#define APPS_CG_FIELD_HPP

#include "../common/options.hpp"

#include <cstddef>
#include <vector>

namespace cg {

using apps::Int3;

struct Shape {
  Int3 n;

  std::ptrdiff_t row() const { return n[0] + 2; }
  std::ptrdiff_t plane() const { return row() * (n[1] + 2); }
  std::ptrdiff_t at(int i, int j, int k) const { return i + j * row() + k * plane(); }
  std::size_t padded() const { return static_cast<std::size_t>(plane() * (n[2] + 2)); }
  Shape coarser() const { return {{n[0] / 2, n[1] / 2, n[2] / 2}}; }
};

class Field {
public:
  explicit Field(Shape shape) : shape_(shape), values_(shape.padded(), 0.0) {}

  const Shape &shape() const { return shape_; }
  // The row of points (·, j, k), starting at its first ghost.
  double *row(int j, int k) { return values_.data() + shape_.at(0, j, k); }
  const double *row(int j, int k) const { return values_.data() + shape_.at(0, j, k); }
  // Everything, ghosts included.
  std::vector<double> &values() { return values_; }
  const std::vector<double> &values() const { return values_; }

  template <typename Visit> void for_each_row(Visit &&visit) {
    for (int k = 1; k <= shape_.n[2]; ++k)
      for (int j = 1; j <= shape_.n[1]; ++j) visit(j, k, row(j, k));
  }

private:
  Shape shape_;
  std::vector<double> values_;
};

// Vector operations of conjugate gradients.

// The dot product over the rank's own points, and over all ranks.
double local_dot(const Field &a, const Field &b);
double dot(const Field &a, const Field &b);

// y = x + factor · y, and y = y + factor · x.
void scale_then_add(double factor, const Field &x, Field &y);
void add_scaled(double factor, const Field &x, Field &y);

} // namespace cg

#endif
