// κ of −∇·(κ∇u) = f.
#pragma once

#include "hide/fem/operator/geometry.hpp"

#include <functional>
#include <vector>

namespace haloscope::fem {

struct Coefficient {
  std::function<double(const Point &)> value = [](const Point &) { return 1.0; };
  bool pointwise = false; // taken at the quadrature points, else once an element, at its centre
};

// One number an element, or (k+1)^3, at the Gauss points, x fastest. Collective: Error on all ranks
// where one is not positive and finite.
[[nodiscard]] std::vector<double> sampled(const Coefficient &coefficient, const Forest &forest,
                                          const Geometry &geometry, int degree);

} // namespace haloscope::fem
