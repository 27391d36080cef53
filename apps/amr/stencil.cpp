#include "stencil.hpp"

#include "../common/simd.hpp"

#include <algorithm>

namespace amr {

namespace {

// One row of cells from those around it.
APPS_FAST void average_row(double *__restrict to, const double *here, const double *south,
                           const double *north, const double *below, const double *above, int cells) {
  for (int x = 1; x <= cells; ++x) {
    const double u = here[x];
    const double flow = (here[x - 1] - u) + (here[x + 1] - u) + (south[x] - u) + (north[x] - u) +
                        (below[x] - u) + (above[x] - u);
    to[x] = u + flow * (1.0 / 7.0);
  }
}

} // namespace

Stencil::Stencil(const Shape &shape) : shape_(shape), below_(shape.stride(2)), here_(shape.stride(2)) {}

void Stencil::apply(Block &block, int first, int count) {
  const std::size_t row = shape_.stride(1), plane = shape_.stride(2);
  for (int v = first; v < first + count; ++v) {
    double *variable = block.data() + shape_.at(v, 0, 0, 0);
    std::copy_n(variable, plane, below_.data());
    for (int z = 1; z <= shape_.cells[2]; ++z) {
      double *to = variable + static_cast<std::size_t>(z) * plane;
      std::copy_n(to, plane, here_.data());
      for (int y = 1; y <= shape_.cells[1]; ++y) {
        const std::size_t at = static_cast<std::size_t>(y) * row;
        average_row(to + at, here_.data() + at, here_.data() + at - row, here_.data() + at + row,
                    below_.data() + at, to + at + plane, shape_.cells[0]);
      }
      below_.swap(here_);
    }
  }
}

} // namespace amr
