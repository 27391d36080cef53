// Batches of elements, one per lane, that read and write their nodes through indices.
#pragma once

#include "fem/kernels/cells.hpp"
#include "fem/kernels/simd_lanes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem::kernels {

// The bytes that vectors hold.
template <typename... Vectors> std::size_t bytes_of(const Vectors &...vectors) {
  return (std::size_t{0} + ... + (vectors.size() * sizeof(typename Vectors::value_type)));
}

struct Batches {
  Choices choices;
  int degree = 1;
  bool pointwise = false;
  int numbers = 0;                    // of the geometry, an element
  std::vector<std::int32_t> nodes;    // batch × node × lane; −1: masked, or no element
  std::vector<double> coefficient;    // batch × (1 or point) × lane
  std::vector<double> geometry;       // batch × number × lane
  std::vector<std::uint16_t> codes;   // of hanging faces, a batch
  std::vector<std::uint8_t> whole;    // a batch: no index is negative
  std::vector<std::int32_t> elements; // batch × lane; −1: none

  std::size_t size() const { return codes.size(); }
  std::size_t bytes() const { return bytes_of(nodes, coefficient, geometry, codes, whole); }
};

using Apply = void (*)(const Batches &, std::size_t begin, std::size_t end, const double *x, double *y);
// Element `lane`-wise diagonal entries instead of a product: d[node] += (Cᵀ A_e C)(node, node).
struct Kernel {
  Apply apply;
  void (*diagonal)(const Batches &, std::size_t begin, std::size_t end, double *d);
  int numbers;  // of geometry that it reads, an element
  double flops; // an element
};

enum class Shape : std::uint8_t { modal, cube, trilinear, lower_order };

// The kernel for a degree from 1 to 8.
Kernel kernel_of(int degree, Shape shape);
template <int degree> Kernel kernel(Shape shape);

// The shape that the cells need, and batches of elements with equal face codes.
Shape shape_of(const Cells &cells, const Choices &choices);
void add_batch(Batches &batches, const Cells &cells, std::span<const std::uint8_t> masked,
               std::span<const std::int32_t> elements);
Batches no_batches(const Cells &cells, const Choices &choices);

} // namespace haloscope::fem::kernels
