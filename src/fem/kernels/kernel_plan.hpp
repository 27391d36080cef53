// A set of elements, ready to be applied: y += Σ Cᵀ A_e C x, in work items of a fixed order.
#pragma once

#include "fem/kernels/cells.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace haloscope::fem {

class Plan {
public:
  // `elements` in ascending order; `masked` has a byte a local node (empty: none is masked): masked
  // nodes read 0 and nothing is added to them.
  Plan(const Cells &cells, std::span<const std::int32_t> elements, std::span<const std::uint8_t> masked,
       const Choices &choices);
  ~Plan();
  Plan(Plan &&) noexcept;
  Plan &operator=(Plan &&) noexcept;
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;

  // The number of work items, and how many elements each holds.
  std::size_t items() const;
  std::span<const float> weights() const;

  // Items [begin, end). With `first_rows` they have to be run in order, from 0, once for each y.
  // The result of all items does not depend on how they were cut into ranges, bit by bit.
  void run(std::size_t begin, std::size_t end, const double *x, double *y) const;

  // Adds the diagonal of the stiffness or mass part, of all items.
  void diagonal(double *d) const;

  // Operations and bytes from or to memory (each row once, index and geometry streams) of all items.
  double flops() const;
  double bytes() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace haloscope::fem
