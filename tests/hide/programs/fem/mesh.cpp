// Forests and their nodes: one line per forest and degree, `name degree key value …`, the same on all ranks.
#include "forests.hpp"
#include "oracle.hpp"

#include "fem/kernels/basis.hpp"
#include "fem/mesh/communicator.hpp"
#include "fem/mesh/forest.hpp"
#include "fem/mesh/ghosts.hpp"
#include "fem/mesh/hanging.hpp"
#include "fem/mesh/nodes.hpp"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

using namespace haloscope::fem;
using namespace haloscope::fem::test;

namespace {

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

template <class T> T all(T value, MPI_Op operation) {
  const MPI_Datatype type = std::is_same_v<T, double> ? MPI_DOUBLE : MPI_INT64_T;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, operation, MPI_COMM_WORLD);
  return value;
}

// Full degree in each direction on cubes; linear in space on deformed elements, which represent only that.
double polynomial(const Point &at, int degree) {
  const auto term = [&](double x, double a, double b) { return std::pow(x - a, degree) + b * x; };
  return term(at[0], 0.3, 1) * term(at[1], 0.6, -2) * term(at[2], 0.1, 0.5);
}
double linear(const Point &at) { return 1 + 2 * at[0] - 3 * at[1] + 0.7 * at[2]; }

// Interpolation over hanging faces reproduces polynomials.
double discontinuity(const Forest &forest, const Nodes &nodes) {
  const int degree = nodes.degree();
  const auto value = [&](const Point &at) { return forest.cubes() ? polynomial(at, degree) : linear(at); };
  const std::vector<Point> points = nodes.points(forest);
  const std::vector<double> corners = nodes.corners(forest);
  const std::vector<double> interval = lobatto_points(degree);
  const Constraint constraint(degree);
  std::vector<double> values(nodes.per_element());
  double worst = 0;
  for (std::size_t element = 0; element < forest.elements(); element++) {
    const auto own = nodes.element_nodes().subspan(element * values.size(), values.size());
    for (std::size_t i = 0; i < values.size(); i++)
      values[i] = value(points[static_cast<std::size_t>(own[i])]);
    constraint.apply(nodes.faces()[element], values);
    std::size_t i = 0;
    const std::span<const double, 24> shape(corners.data() + 24 * element, 24);
    for (const double z : interval)
      for (const double y : interval)
        for (const double x : interval)
          worst = std::max(worst, std::abs(values[i++] - value(trilinear(shape, {x, y, z}))));
  }
  return all(worst, MPI_MAX);
}

// Both ranks of a pair agree on nodes: numbers and positions from owners are those of the ghosts.
double mismatch(const Forest &forest, const Nodes &nodes) {
  Ghosts exchange(nodes.communicator(), nodes.links());
  const std::vector<Point> points = nodes.points(forest);
  double worst = 0;
  for (std::size_t d = 0; d < 4; d++) {
    std::vector<double> values(nodes.local(), -1);
    const auto expected = [&](std::size_t i) {
      return d == 3 ? static_cast<double>(nodes.global(static_cast<std::int32_t>(i))) : points[i].at(d);
    };
    for (std::size_t i = 0; i < nodes.owned(); i++) values[i] = expected(i);
    exchange.forward(values.data());
    for (std::size_t i = 0; i < nodes.local(); i++)
      worst = std::max(worst, std::abs(values[i] - expected(i)));
  }
  return all(worst, MPI_MAX);
}

// The number of elements per node, summed by owners, and independently over all ranks.
std::int64_t wrong_sums(const Nodes &nodes) {
  std::vector<double> touched(nodes.local()), total(static_cast<std::size_t>(nodes.all()));
  for (const std::int32_t node : nodes.element_nodes()) {
    touched[static_cast<std::size_t>(node)]++;
    total[static_cast<std::size_t>(nodes.global(node))]++;
  }
  MPI_Allreduce(MPI_IN_PLACE, total.data(), static_cast<int>(total.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  Ghosts exchange(nodes.communicator(), nodes.links());
  exchange.reverse(touched.data());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < nodes.owned(); i++)
    wrong += touched[i] != total[static_cast<std::size_t>(nodes.first()) + i];
  return all(wrong, MPI_SUM);
}

// Elements that share nodes with other ranks, found with a table of all nodes.
std::int64_t wrong_mirrors(const Nodes &nodes) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(nodes.all()));
  for (const std::int32_t node : nodes.element_nodes())
    ranks[static_cast<std::size_t>(nodes.global(node))] = 1;
  MPI_Allreduce(MPI_IN_PLACE, ranks.data(), static_cast<int>(ranks.size()), MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  const std::vector<char> mirror = nodes.mirror();
  std::int64_t wrong = 0;
  for (std::size_t element = 0; element < mirror.size(); element++) {
    bool shared = false;
    for (const std::int32_t node :
         nodes.element_nodes().subspan(element * nodes.per_element(), nodes.per_element()))
      shared |= ranks[static_cast<std::size_t>(nodes.global(node))] > 1;
    wrong += shared != (mirror[element] != 0);
  }
  return all(wrong, MPI_SUM);
}

// Flags against positions before the deformation, and the number of boundary nodes.
std::pair<std::int64_t, std::int64_t> boundary(const Forest &forest, const Nodes &nodes) {
  const std::vector<std::uint8_t> flags = nodes.boundary(forest);
  Point upper{};
  for (const Leaf &leaf : forest.leaves())
    for (std::size_t d = 0; d < 3; d++)
      upper.at(d) = std::max(upper.at(d), forest.corner(leaf).at(d) + forest.size(leaf));
  for (double &coordinate : upper) coordinate = all(coordinate, MPI_MAX);
  std::int64_t wrong = 0, count = 0;
  const std::vector<Point> points = nodes.points(forest);
  for (std::size_t i = 0; i < nodes.local(); i++) {
    bool outer = false;
    for (std::size_t d = 0; d < 3; d++)
      outer |= std::abs(points[i].at(d)) < 1e-12 || std::abs(points[i].at(d) - upper.at(d)) < 1e-12;
    wrong += forest.cubes() && outer != (flags[i] != 0);
    count += i < nodes.owned() && flags[i] != 0;
  }
  return {all(wrong, MPI_SUM), all(count, MPI_SUM)};
}

void check(const std::string &name, const Forest &forest, int degree) {
  Nodes nodes(forest, degree);
  std::vector<std::int32_t> order(nodes.owned());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(static_cast<unsigned>(rank())));
  nodes.renumber(order);
  const std::int64_t counted = count_nodes(forest, degree);
  const auto [wrong, outer] = boundary(forest, nodes);
  const auto hanging = all<std::int64_t>(
      std::ranges::count_if(nodes.faces(), [](std::uint16_t code) { return code != 0; }), MPI_SUM);
  const double gap = discontinuity(forest, nodes), different = mismatch(forest, nodes);
  const std::int64_t sums = wrong_sums(nodes), mirrors = wrong_mirrors(nodes);
  if (rank() == 0)
    std::printf("%s %d elements %lld hanging %lld nodes %lld counted %lld boundary %lld wrong_boundary %lld "
                "discontinuity %.2e mismatch %.2e wrong_sums %lld wrong_mirrors %lld\n",
                name.c_str(), degree, static_cast<long long>(forest.all_elements()),
                static_cast<long long>(hanging), static_cast<long long>(nodes.all()),
                static_cast<long long>(counted), static_cast<long long>(outer), static_cast<long long>(wrong),
                gap, different, static_cast<long long>(sums), static_cast<long long>(mirrors));
}

} // namespace

int main(int count, char **words) {
  MPI_Init(&count, &words);
  for (const auto &[name, make] : forests()) {
    const Forest forest = make();
    for (const int degree : {1, 2, 3, 4}) check(name, forest, degree);
    if (name == "corner") check(name, forest, 8);
  }
  MPI_Finalize();
}
