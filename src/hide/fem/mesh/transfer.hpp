// Between two levels of a hierarchy, without matrices: a coarse function's values at the fine nodes.
#pragma once

#include "hide/fem/mesh/exchange.hpp"
#include "hide/fem/mesh/hierarchy.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace haloscope::fem {

class Transfer {
public:
  // Collective; after the last renumbering of both. Masks are of local nodes, empty for none: masked
  // nodes are read as 0 and get 0.
  Transfer(const Level &fine, const Level &coarse, std::span<const std::uint8_t> fine_masked = {},
           std::span<const std::uint8_t> coarse_masked = {});
  Transfer(Transfer &&) noexcept;
  Transfer &operator=(Transfer &&) noexcept;
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;
  ~Transfer();

  // Collective. Vectors of owned nodes. The result does not depend on timing, bit by bit.
  void interpolate(const double *coarse, double *fine);
  void restrict(const double *fine, double *coarse); // its transpose

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace haloscope::fem
