// The operator u → −∇·(κ∇u) on a forest, without a matrix and in parallel: Algorithm 2 of Heldman, Rudi and
// Bessac (ICS 2025). <haloscope/overlap.h> overlaps its communication.
//
// Elements that touch a node of a different rank, the mirrors, work on a compact vector. It is added to the
// result at the end, after the values from neighbours in the order of their ranks. So for one number of ranks
// and one mesh, the result is the same bit by bit, whatever the policy, α and the timing.
#pragma once

#include "fem/mesh/nodes.hpp"
#include "fem/operator/model_problem.hpp"
#include "fem/operator/plain_quadrature.hpp"

#include <haloscope/overlap.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace haloscope::fem {

struct OperatorSettings {
  Overlap::Settings overlap = Overlap::defaults(); // policy, α, phases, region …; consistent: see below
  Part part = Part::stiffness;
  bool transposed = false; // of a derivative: ∫ κ u ∂v/∂x in place of ∫ κ ∂u/∂x v
  bool dirichlet = true;   // rows and columns of nodes on the domain's boundary are the identity's
  bool bricks = true;      // use regular blocks of leaves where the forest has them
  std::vector<Overlap::Times> *history = nullptr; // each application adds its times: reserve room
};

struct Triplet {
  std::int64_t row, column; // global numbers of nodes
  double value;
};

// Numbers the owned nodes so that regular blocks of leaves own contiguous ones. Call it once, before anything
// else is made of the nodes. Without it operators are slower; nothing else changes.
void lay_out(const Forest &forest, Nodes &nodes);

// All of it is collective. Vectors hold owned nodes alone, in the order of `nodes`.
class Operator {
public:
  // Throws Error on all ranks: κ ≤ 0 or not a number, settings out of range. Forest and nodes must outlive
  // it, and nodes keep their numbers.
  Operator(const Forest &forest, const Nodes &nodes, const Coefficient &coefficient,
           const OperatorSettings &settings = {});
  Operator(Operator &&) noexcept;
  Operator &operator=(Operator &&) noexcept;
  Operator(const Operator &) = delete;
  Operator &operator=(const Operator &) = delete;
  ~Operator();

  // y = A x. x and y must not overlap. With settings.overlap.consistent it brings x's ghosts first.
  void apply(const double *x, double *y, int phase = 0);
  // The same for settings.overlap.consistent: vectors have their ghosts behind the owned nodes, x's are up
  // to date, y's will be.
  void apply_consistent(const double *x, double *y, int phase = 0);
  void diagonal(double *result);

  [[nodiscard]] std::size_t owned() const noexcept;
  [[nodiscard]] std::size_t local() const noexcept;                    // with ghosts
  [[nodiscard]] std::span<const std::uint8_t> masked() const noexcept; // of local nodes: Dirichlet's
  [[nodiscard]] double alpha(int phase = 0) const;
  [[nodiscard]] const Overlap::Times &times() const noexcept; // of the last application
  [[nodiscard]] std::size_t items() const noexcept;           // independent ones
  [[nodiscard]] int messages() const noexcept;                // that this rank sends in an application
  [[nodiscard]] double flops() const noexcept;                // of this rank in one application
  [[nodiscard]] double bytes() const noexcept;                // and what it moves at least

private:
  struct Work;
  std::unique_ptr<Work> work_;
};

} // namespace haloscope::fem
