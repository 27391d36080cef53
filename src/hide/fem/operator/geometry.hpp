// The corners of elements: computed where they are cubes, else kept.
#pragma once

#include "hide/fem/mesh/nodes.hpp"
#include "hide/fem/operator/element.hpp"

#include <array>
#include <vector>

namespace haloscope::fem {

class Geometry {
public:
  Geometry(const Forest &forest, const Nodes &nodes) : forest_(&forest) {
    if (!forest.cubes()) corners_ = nodes.corners(forest);
  }

  [[nodiscard]] std::array<double, 24> corners(std::size_t element) const {
    std::array<double, 24> corners{};
    if (!corners_.empty()) {
      std::copy_n(corners_.begin() + static_cast<std::ptrdiff_t>(24 * element), 24, corners.begin());
      return corners;
    }
    const Leaf &leaf = forest_->leaves()[element];
    const Point low = forest_->corner(leaf);
    const double size = forest_->size(leaf);
    for (std::size_t corner = 0; corner < 8; corner++)
      for (std::size_t d = 0; d < 3; d++)
        corners[3 * corner + d] = low[d] + ((corner >> d & 1U) != 0 ? size : 0);
    return corners;
  }
  [[nodiscard]] Mapping map(std::size_t element, const Point &at) const { return {corners(element), at}; }
  // Of all elements; empty where they are cubes.
  [[nodiscard]] const std::vector<double> &all() const noexcept { return corners_; }

private:
  const Forest *forest_;
  std::vector<double> corners_;
};

} // namespace haloscope::fem
