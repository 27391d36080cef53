// Haloscope's matrix-free operators, measured alternately with peers. Meshes are uniform with 129³ points, of
// cubes and deformed, and forests refined in a ball, in a band and along a sphere. Each forest has a uniform
// mesh with about the same number of unknowns. The argument is the level of Q1.
#include "fem/mesh/forest.hpp"
#include "fem/mesh/nodes.hpp"
#include "fem/operator/model_problem.hpp"
#include "fem/operator/operator.hpp"

#include "turns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace {

namespace fem = haloscope::fem;
using fem::Forest;
using fem::Nodes;
using fem::Point;

// An operator with its data.
struct Made {
  Made(Forest mesh, int degree, bool bricks) : forest(std::move(mesh)), nodes(forest, degree) {
    fem::OperatorSettings settings;
    settings.bricks = bricks;
    if (bricks) fem::lay_out(forest, nodes);
    applied = std::make_unique<fem::Operator>(forest, nodes, fem::Coefficient{}, settings);
    x.resize(nodes.owned());
    y.resize(nodes.owned());
    for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<double>(i % 17) / 17;
  }
  Forest forest;
  Nodes nodes;
  std::unique_ptr<fem::Operator> applied;
  std::vector<double> x, y;
};

turns::Case make(Forest forest, int degree, bool bricks = true) {
  const auto made = std::make_shared<Made>(std::move(forest), degree, bricks);
  return {[made] { made->applied->apply(made->x.data(), made->y.data()); },
          static_cast<double>(made->nodes.all()), made->applied->flops(), made->applied->bytes()};
}

Forest cube(int level, bool deformed = false) {
  fem::Domain domain;
  if (deformed) domain.deformation = fem::deformation(0.05);
  return {MPI_COMM_WORLD, domain, level};
}

// A uniform mesh with about this number of unknowns, in blocks of 8³ elements.
turns::Case uniform_of(double unknowns) {
  constexpr int level = 3;
  const int trees = std::max(1, static_cast<int>(std::lround((std::cbrt(unknowns) - 1) / (1 << level))));
  return make(Forest(MPI_COMM_WORLD, {{trees, trees, trees}, {}}, level), 1);
}

double from_centre(const Point &point) { return std::hypot(point[0] - 0.5, point[1] - 0.5, point[2] - 0.5); }

using Cases = std::map<std::string, turns::Case>;

void adaptive(Cases &cases, const std::string &name, int level, int passes, const Forest::Predicate &wanted) {
  Forest forest = cube(level);
  forest.refine(wanted, passes);
  const auto made = cases.insert_or_assign(name, make(std::move(forest), 1)).first;
  cases.insert_or_assign("as-" + name, uniform_of(made->second.unknowns));
}

Cases all(int level) {
  Cases cases{{"q1", make(cube(level), 1)},
              {"q1-general", make(cube(level), 1, false)}, // in the order of the forest
              {"q2", make(cube(level - 1), 2)},
              {"q4", make(cube(level - 2), 4)},
              {"deformed-q1", make(cube(level, true), 1)},
              {"deformed-q4", make(cube(level - 2, true), 4)}};
  constexpr double radius = 0.3, half_band = 0.05;
  adaptive(cases, "ball", level - 2, 2, [](Point centre, double) { return from_centre(centre) < radius; });
  adaptive(cases, "band", level - 2, 2,
           [](Point centre, double) { return std::abs(centre[0] - 0.5) < half_band; });
  adaptive(cases, "sphere", level - 2, 3,
           [](Point centre, double size) { return std::abs(from_centre(centre) - radius) < size; });
  return cases;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  turns::serve(all(argc > 1 ? std::atoi(argv[1]) : 7));
  MPI_Finalize();
  return 0;
}
