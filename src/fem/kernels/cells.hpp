// The kernels' view of a mesh: plain arrays, no MPI, no p4est.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem {

// A leaf of the forest, in p8est's integer coordinates: a tree is 2^19 wide.
inline constexpr int root_bits = 19;

struct Leaf {
  std::int32_t tree;
  std::int32_t x, y, z;
  std::int8_t level;
};

// The elements of one rank, in Morton order. The spans are the caller's and outlive every Plan made of them.
struct Cells {
  int degree = 1;
  bool cubes = true;                    // all elements are cubes: only `sizes` is read of the geometry
  std::span<const std::int32_t> nodes;  // elements × (degree + 1)³, lexicographic, x fastest
  std::span<const std::uint16_t> faces; // face codes of p8est_lnodes; empty: nothing hangs
  std::span<const Leaf> leaves;         // empty: no bricks are looked for
  std::span<const double> corners;      // elements × 8 × 3, lexicographic, x fastest; cubes need none
  std::span<const double> sizes;        // edge length an element, of cubes
  std::span<const double> coefficient;  // an element, or elements × (degree + 1)³ at Gauss points

  std::size_t element_nodes() const {
    const auto n = static_cast<std::size_t>(degree) + 1;
    return n * n * n;
  }
  std::size_t elements() const { return nodes.size() / element_nodes(); }
  bool pointwise() const { return coefficient.size() > elements(); } // not for a layout, without any
};

// The integrand, always times the coefficient; u the trial, v the test function: stiffness ∇u·∇v, mass u v,
// derivative_x (∂u/∂x) v.
enum class Part { stiffness, mass, derivative_x, derivative_y, derivative_z };

struct Choices {
  Part part = Part::stiffness;
  bool transposed = false; // of a derivative: u (∂v/∂x)
  bool bricks = true;      // recognise cubes of leaves where a kernel for them exists
  // This many rows of y are first written by the plan, which leaves 0 where no element of it adds;
  // 0: all of it is added to what y holds.
  std::size_t first_rows = 0;
  int largest_brick = 8; // edge in elements; 1: none
};

// A numbering in which bricks own contiguous rows: new_of_old for nodes [0, owned). The mirror
// elements stay out of the bricks, as they are another plan's.
std::vector<std::int32_t> layout(const Cells &cells, std::span<const char> mirror, std::size_t owned);

// The same for the plan over these elements alone.
std::vector<std::int32_t> layout(const Cells &cells, std::span<const std::int32_t> elements,
                                 std::size_t owned);

} // namespace haloscope::fem
