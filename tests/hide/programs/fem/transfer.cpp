// Hierarchies and transfers between levels: one line per forest and degree, `name degree key value …`.
#include "forests.hpp"

#include "fem/mesh/hierarchy.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

using namespace haloscope::fem;
using namespace haloscope::fem::test;

namespace {

using Vector = std::vector<double>;

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

double all(double value, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return value;
}

double dot(const Vector &a, const Vector &b) {
  return all(std::inner_product(a.begin(), a.end(), b.begin(), 0.0), MPI_SUM);
}

Vector random(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed + 100 * static_cast<unsigned>(rank()));
  std::uniform_real_distribution<double> values(-1, 1);
  Vector vector(count);
  std::ranges::generate(vector, [&] { return values(generator); });
  return vector;
}

double polynomial(const Point &at, int degree) {
  const auto term = [&](double x, double a, double b) { return std::pow(x - a, degree) + b * x; };
  return term(at[0], 0.3, 1) * term(at[1], 0.6, -2) * term(at[2], 0.1, 0.5);
}

Vector values(const Level &level, int degree) {
  const std::vector<Point> points = level.nodes.points(level.forest);
  Vector values(level.nodes.owned());
  for (std::size_t i = 0; i < values.size(); i++) values[i] = polynomial(points[i], degree);
  return values;
}

// A coarse polynomial's values at the fine nodes.
double interpolation_error(const Level &fine, const Level &coarse) {
  Transfer transfer(fine, coarse);
  Vector result(fine.nodes.owned(), 1e9);
  const int degree = coarse.nodes.degree();
  transfer.interpolate(values(coarse, degree).data(), result.data());
  const Vector expected = values(fine, degree);
  double worst = 0;
  for (std::size_t i = 0; i < result.size(); i++) worst = std::max(worst, std::abs(result[i] - expected[i]));
  return all(worst, MPI_MAX);
}

// ⟨P c, f⟩ = ⟨c, Pᵀ f⟩ up to rounding, relative to the norms; with or without the boundary.
double asymmetry(const Level &fine, const Level &coarse, bool masked) {
  const std::vector<std::uint8_t> fine_mask = fine.nodes.boundary(fine.forest);
  const std::vector<std::uint8_t> coarse_mask = coarse.nodes.boundary(coarse.forest);
  Transfer transfer = masked ? Transfer(fine, coarse, fine_mask, coarse_mask) : Transfer(fine, coarse);
  const Vector c = random(coarse.nodes.owned(), 1), f = random(fine.nodes.owned(), 2);
  Vector up(f.size(), 1e9), down(c.size(), 1e9);
  transfer.interpolate(c.data(), up.data());
  transfer.restrict(f.data(), down.data());
  double wrong = std::abs(dot(up, f) - dot(c, down)) / std::sqrt(dot(up, up) * dot(f, f));
  for (std::size_t i = 0; masked && i < f.size(); i++) wrong += fine_mask[i] != 0 && up[i] != 0;
  for (std::size_t i = 0; masked && i < c.size(); i++) wrong += coarse_mask[i] != 0 && down[i] != 0;
  return all(wrong, MPI_MAX);
}

void shuffle(Nodes &nodes) {
  std::vector<std::int32_t> order(nodes.owned());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(static_cast<unsigned>(rank())));
  nodes.renumber(order);
}

void check(const std::string &name, Hierarchy hierarchy, int degree) {
  std::vector<Level> &levels = hierarchy.levels();
  for (Level &level : levels) shuffle(level.nodes);
  double interpolation = 0, transpose = 0;
  for (std::size_t i = 1; i < levels.size(); i++) {
    if (levels[i].forest.cubes())
      interpolation = std::max(interpolation, interpolation_error(levels[i - 1], levels[i]));
    for (const bool masked : {false, true})
      transpose = std::max(transpose, asymmetry(levels[i - 1], levels[i], masked));
  }
  if (rank() != 0) return;
  std::printf("%s %d elements ", name.c_str(), degree);
  for (const Level &level : levels) std::printf("%lld,", static_cast<long long>(level.forest.all_elements()));
  std::printf(" aligned %d imbalance %.4f interpolation %.2e transpose %.2e\n", hierarchy.aligned(),
              hierarchy.imbalance(), interpolation, transpose);
}

} // namespace

// Without alignment most families at the cuts are not coarsened, and hanging sides are between ranks.
int main(int count, char **words) {
  MPI_Init(&count, &words);
  const HierarchySettings aligned{1, 1.1, 32}, cut{1, 1, 4};
  for (const auto &[name, make] : forests()) {
    for (const int degree : {1, 2, 4}) check(name, Hierarchy(make(), degree, aligned), degree);
    for (const int degree : {1, 3}) check(name + "-cut", Hierarchy(make(), degree, cut), degree);
    if (name == "corner") check(name, Hierarchy(make(), 8, aligned), 8);
  }
  MPI_Finalize();
}
