#include "hide/fem/operator/coefficient.hpp"

#include "hide/fem/mesh/error.hpp"
#include "hide/fem/operator/element.hpp"

#include <cmath>
#include <string>

namespace haloscope::fem {

namespace {

std::string wrong(double value, const Point &at) {
  const auto coordinate = [&](std::size_t d) { return std::to_string(at[d]); };
  return "coefficient: is " + std::to_string(value) + " at (" + coordinate(0) + ", " + coordinate(1) + ", " +
         coordinate(2) + "): it must be positive and finite";
}

} // namespace

std::vector<double> sampled(const Coefficient &coefficient, const Forest &forest, const Geometry &geometry,
                            int degree) {
  const Tabulated table(degree, coefficient.pointwise ? 0 : 1);
  const auto points = static_cast<std::size_t>(table.count) * static_cast<std::size_t>(table.count) *
                      static_cast<std::size_t>(table.count);
  std::vector<double> values;
  values.reserve(forest.elements() * points);
  std::string message;
  for (std::size_t element = 0; element < forest.elements(); element++) {
    const auto corners = geometry.corners(element);
    for (std::size_t q = 0; q < points; q++) {
      const Point at = Mapping(corners, quadrature_point(table, q)).point;
      values.push_back(coefficient.value(at));
      const bool fine = values.back() > 0 && std::isfinite(values.back());
      if (!fine && message.empty()) message = wrong(values.back(), at);
    }
  }
  agree(forest.communicator(), message);
  return values;
}

} // namespace haloscope::fem
