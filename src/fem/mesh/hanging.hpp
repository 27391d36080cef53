// The meaning of p8est's face code. An element with hanging faces or edges reads the nodes of the large ones
// there. Along each line on such a face or edge, its values are interpolated by halves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem {

struct Hanging {
  // The child's place in its parent, a bit a direction: the half of the large face or edge.
  unsigned child = 0;
  std::array<bool, 3> face{}; // hanging: the face normal to x, y, z that touches the parent's corner `child`
  std::array<bool, 3> edge{}; // hanging: the edge along x, y, z there

  explicit Hanging(std::uint16_t code) noexcept;
  // Whether the line along `direction` through the lattice point `at` hangs. The line's own coordinate is
  // ignored.
  [[nodiscard]] bool line(int direction, std::array<int, 3> at, int degree) const noexcept;
  [[nodiscard]] bool point(std::array<int, 3> at, int degree) const noexcept; // on any such line
};

// C(code) and its transpose, on the (k+1)^3 values of one element, in place.
class Constraint {
public:
  explicit Constraint(int degree);
  void apply(std::uint16_t code, std::span<double> values) const;
  void transpose(std::uint16_t code, std::span<double> values) const;

private:
  void run(std::uint16_t code, std::span<double> values, bool transposed) const;

  int degree_;
  // (k+1)² each, row-major: values at the lower or upper half's points from those of the whole interval.
  std::array<std::vector<double>, 2> halves_;
};

} // namespace haloscope::fem
