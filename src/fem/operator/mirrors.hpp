// The elements that touch nodes of other ranks, as a mesh of their own with a compact numbering.
#pragma once

#include "fem/kernels/kernel_plan.hpp"

#include <memory>
#include <span>
#include <vector>

namespace haloscope::fem {

class Mirrors {
public:
  // Has those of the rank's elements that `mirror` marks; `known` are the owned nodes that other ranks know.
  // `masked` is of local nodes: `owned` ones, then ghosts.
  Mirrors(const Cells &all, std::span<const char> mirror, std::span<const std::int32_t> known,
          std::size_t owned, std::span<const std::uint8_t> masked, const Choices &choices);
  Mirrors(const Mirrors &) = delete;
  Mirrors &operator=(const Mirrors &) = delete;
  ~Mirrors() = default;

  std::vector<double> x, y; // compact: what is read and, after run(), what the elements contribute

  // Owned nodes that are in the compact vectors, as all ghosts are, and the place of a local node there.
  [[nodiscard]] std::span<const std::int32_t> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::size_t place(std::int32_t node) const noexcept {
    return static_cast<std::size_t>(places_[static_cast<std::size_t>(node)]);
  }
  [[nodiscard]] const Plan &plan() const noexcept { return *plan_; }
  void run() { plan_->run(0, plan_->items(), x.data(), y.data()); }

private:
  void number(const Cells &all, std::span<const std::int32_t> known, std::size_t owned, std::size_t local);
  void copy(const Cells &all);
  [[nodiscard]] Cells cells(const Cells &all) const;

  std::vector<std::int32_t> elements_, nodes_, places_;
  std::vector<std::int32_t> element_nodes_;
  std::vector<std::uint16_t> faces_;
  std::vector<Leaf> leaves_;
  std::vector<double> corners_, sizes_, coefficient_;
  std::unique_ptr<Plan> plan_;
};

} // namespace haloscope::fem
