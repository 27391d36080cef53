#include "hide/fem/operator/load.hpp"

#include "hide/fem/operator/operator.hpp"

#include <algorithm>

namespace haloscope::fem {

std::vector<double> right_hand_side(const Forest &forest, const Nodes &nodes, const Function &f,
                                    bool dirichlet) {
  const std::vector<Point> points = nodes.points(forest);
  std::vector<double> values(nodes.owned()), result(nodes.owned());
  std::transform(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(values.size()), values.begin(),
                 f);
  OperatorSettings settings;
  settings.part = Part::mass;
  settings.dirichlet = false;
  Operator(forest, nodes, {}, settings).apply(values.data(), result.data());
  if (!dirichlet) return result;
  const std::vector<std::uint8_t> boundary = nodes.boundary(forest);
  for (std::size_t node = 0; node < result.size(); node++)
    if (boundary[node] != 0) result[node] = 0;
  return result;
}

} // namespace haloscope::fem
