#include "mesh.hpp"

#include <cmath>
#include <numbers>

namespace poisson {

namespace {

using haloscope::fem::Forest;
using haloscope::fem::Point;

double distance_from_middle(const Point &p) { return std::hypot(p[0] - 0.5, p[1] - 0.5, p[2] - 0.5); }

Forest::Predicate region(const std::string &where) {
  if (where == "ball") return [](const Point &p, double) { return distance_from_middle(p) < 0.25; };
  if (where == "band") return [](const Point &p, double) { return std::abs(p[2] - 0.5) < 0.1; };
  return [](const Point &p, double size) { // crossed by the surface
    return std::abs(distance_from_middle(p) - 0.3) < 0.5 * std::numbers::sqrt3 * size;
  };
}

} // namespace

Forest mesh(MPI_Comm communicator, const Parameters &parameters) {
  haloscope::fem::Domain domain;
  if (parameters.deform > 0) domain.deformation = haloscope::fem::deformation(parameters.deform);
  Forest forest(communicator, domain, parameters.level);
  if (parameters.refine != "none") forest.refine(region(parameters.refine), parameters.refinements);
  return forest;
}

haloscope::fem::Problem problem(const Parameters &parameters) {
  return parameters.pointwise ? haloscope::fem::smooth_problem()
                              : haloscope::fem::jump_problem(parameters.jump);
}

} // namespace poisson
