// The operator against its assembled matrix, under all policies, on random meshes; convergence; bad input.
// Every line starts with the name of the check; numbers follow.
#include "fem/mesh/communicator.hpp"
#include "fem/mesh/ghosts.hpp"
#include "fem/operator/assembly.hpp"
#include "fem/operator/load.hpp"
#include "fem/operator/model_problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace haloscope::fem;
using haloscope::Overlap;

namespace {

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

double sum(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  return sum(std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
}

// A case does not depend on the number of ranks: a wave in space determines the refined elements.
struct Case {
  Domain domain;
  int level, degree;
  double threshold;
  Coefficient coefficient;
  OperatorSettings settings;

  explicit Case(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    domain.trees = {1 + below(2), 1, 1 + below(2)};
    if (below(2) == 1) domain.deformation = deformation(0.04);
    degree = 1 + below(3);
    level = degree == 1 ? 2 : 1;
    threshold = 0.4 + 0.1 * below(5);
    const double contrast = std::pow(10, below(4)), wave = 3 + below(5);
    coefficient.value = [=](const Point &p) {
      return 1 + contrast * (1 + std::sin(wave * p[0] + p[1] - p[2]));
    };
    coefficient.pointwise = below(2) == 1;
    const std::array parts{Part::stiffness, Part::stiffness, Part::mass, Part::derivative_y};
    settings.part = parts.at(random() % parts.size());
    settings.dirichlet = below(3) != 0;
    settings.bricks = below(3) != 0;
    if (seed % 4 == 1) { // hardly refined: large blocks of leaves, cut by ranks
      domain = {};
      degree = 1;
      level = 3;
      settings.part = Part::stiffness;
      settings.bricks = true;
      threshold = seed % 8 == 1 ? 0.97 : 2;
    }
  }

  [[nodiscard]] Forest forest() const {
    Forest made(MPI_COMM_WORLD, domain, level);
    made.refine([this](const Point &p,
                       double) { return std::sin(9 * p[0]) * std::cos(7 * p[1] + 4 * p[2]) > threshold; },
                2);
    return made;
  }
};

std::vector<double> random_vector(const Nodes &nodes, unsigned seed) {
  std::vector<double> x(nodes.owned());
  for (std::size_t i = 0; i < x.size(); i++) {
    std::mt19937 random(seed + 7919U * static_cast<unsigned>(nodes.global(static_cast<std::int32_t>(i))));
    x[i] = std::uniform_real_distribution{-1.0, 1.0}(random);
  }
  return x;
}

// Values of a function, which are the same for any number of ranks.
std::vector<double> wave(const Forest &forest, const Nodes &nodes, double length) {
  std::vector<double> x(nodes.owned());
  const std::vector<Point> points = nodes.points(forest);
  for (std::size_t i = 0; i < x.size(); i++)
    x[i] = std::sin(length * points[i][0] + points[i][1]) + std::cos(length * points[i][2]);
  return x;
}

template <class T> std::vector<T> gathered(const std::vector<T> &own) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> counts(static_cast<std::size_t>(ranks)), starts(counts);
  const auto bytes = static_cast<int>(own.size() * sizeof(T));
  MPI_Allgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::vector<T> all(static_cast<std::size_t>(starts.back() + counts.back()) / sizeof(T));
  MPI_Allgatherv(own.data(), bytes, MPI_BYTE, all.data(), counts.data(), starts.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  return all;
}

// The largest difference of owned entries, relative to the largest entry.
double difference(const std::vector<double> &all, const std::vector<double> &own, std::int64_t first) {
  double most = 0, scale = 0;
  for (const double value : all) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < own.size(); i++)
    most = std::max(most, std::abs(own[i] - all[static_cast<std::size_t>(first) + i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most / scale;
}

// matrix SEED difference, difference of the diagonal, asymmetry, share of hanging elements
void compare_with_matrix(unsigned seed, const Case &c, const Forest &forest, const Nodes &nodes) {
  Operator matrix(forest, nodes, c.coefficient, c.settings);
  const std::vector<double> x = random_vector(nodes, seed), z = random_vector(nodes, seed + 1);
  std::vector<double> y(x.size()), w(x.size()), diagonal(x.size());
  matrix.apply(x.data(), y.data());
  matrix.apply(z.data(), w.data());
  const bool has_diagonal = c.settings.part == Part::stiffness || c.settings.part == Part::mass;
  if (has_diagonal) matrix.diagonal(diagonal.data());

  const auto triplets =
      gathered(assemble(forest, nodes, c.coefficient, c.settings.part, c.settings.dirichlet));
  const std::vector<double> all_x = gathered(x);
  std::vector<double> all_y(all_x.size()), all_diagonal(all_x.size());
  for (const Triplet &t : triplets) {
    all_y[static_cast<std::size_t>(t.row)] += t.value * all_x[static_cast<std::size_t>(t.column)];
    if (t.row == t.column) all_diagonal[static_cast<std::size_t>(t.row)] += t.value;
  }
  const double products = dot(x, w), transposed = dot(y, z);
  const double hanging = sum(static_cast<double>(
      std::ranges::count_if(nodes.faces(), [](std::uint16_t code) { return code != 0; })));
  const double of_result = difference(all_y, y, nodes.first());
  const double of_diagonal = has_diagonal ? difference(all_diagonal, diagonal, nodes.first()) : 0;
  const double asymmetry =
      has_diagonal ? std::abs(products - transposed) / std::sqrt(dot(x, x) * dot(w, w)) : 0;
  if (rank() == 0)
    std::printf("matrix %u %.3e %.3e %.3e %.3f\n", seed, of_result, of_diagonal, asymmetry,
                hanging / static_cast<double>(forest.all_elements()));
}

// sameness SEED two numbers that depend on the partition only by rounding
void print_invariants(unsigned seed, const Case &c, const Forest &forest, const Nodes &nodes) {
  Operator matrix(forest, nodes, c.coefficient, c.settings);
  const std::vector<double> x = wave(forest, nodes, 5), z = wave(forest, nodes, 2);
  std::vector<double> y(x.size());
  for (int i = 0; i < 2; i++) matrix.apply(x.data(), y.data());
  const double energy = dot(x, y), other = dot(z, y);
  if (rank() == 0)
    std::printf("sameness %u %lld %.17g %.17g\n", seed, static_cast<long long>(nodes.all()), energy, other);
}

// policies SEED number of results that differ in any bit from the first policy's
void compare_policies(unsigned seed, const Case &c, const Forest &forest, const Nodes &nodes) {
  const std::vector<double> x = random_vector(nodes, seed);
  std::vector<double> expected, y(nodes.local()), with_ghosts(nodes.local());
  int differing = 0;
  const auto look = [&] {
    if (expected.empty()) expected.assign(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(x.size()));
    differing += static_cast<int>(!x.empty() && std::memcmp(expected.data(), y.data(), 8 * x.size()) != 0);
  };
  for (int consistent = 0; consistent < 2; consistent++)
    for (const int policy : {HALOSCOPE_OVERLAP_FIXED, HALOSCOPE_OVERLAP_DYNAMIC, HALOSCOPE_OVERLAP_TEST,
                             HALOSCOPE_OVERLAP_ADAPTIVE})
      for (const double alpha : {0.0, 0.37, 1.0}) {
        OperatorSettings settings = c.settings;
        settings.overlap.policy = static_cast<haloscope_overlap_policy>(policy);
        settings.overlap.alpha = alpha;
        settings.overlap.epsilon = 1e-9;
        settings.overlap.consistent = consistent;
        settings.overlap.chunk = 1;
        Operator matrix(forest, nodes, c.coefficient, settings);
        for (int i = 0; i < 2; i++) {
          std::ranges::fill(y, std::numeric_limits<double>::quiet_NaN());
          matrix.apply(x.data(), y.data());
          look();
        }
        if (consistent == 0) continue;
        // Ghosts of the result are those of the owners: applied again, it equals apply().
        matrix.apply(x.data(), y.data());
        std::ranges::copy(x, with_ghosts.begin());
        Ghosts(nodes.communicator(), nodes.links()).forward(with_ghosts.data());
        std::vector<double> first(nodes.local()), second(nodes.local()), third(nodes.local());
        matrix.apply_consistent(with_ghosts.data(), first.data());
        std::ranges::copy(first, y.begin());
        look();
        matrix.apply_consistent(first.data(), second.data());
        matrix.apply(first.data(), third.data());
        differing += static_cast<int>(std::memcmp(second.data(), third.data(), 8 * x.size()) != 0);
      }
  MPI_Allreduce(MPI_IN_PLACE, &differing, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank() == 0) std::printf("policies %u %d\n", seed, differing);
}

void random_cases(int first, int last) {
  for (auto seed = static_cast<unsigned>(first); seed < static_cast<unsigned>(last); seed++) {
    const Case c(seed);
    const Forest forest = c.forest();
    Nodes nodes(forest, c.degree);
    lay_out(forest, nodes);
    compare_with_matrix(seed, c, forest, nodes);
    print_invariants(seed, c, forest, nodes);
    if (seed % 2 == 0) compare_policies(seed, c, forest, nodes);
  }
}

// Jacobi's conjugate gradients, to be independent of the solvers.
std::vector<double> solved(Operator &matrix, const std::vector<double> &b) {
  std::vector<double> u(b.size()), r = b, z(b.size()), p(b.size()), ap(b.size()), diagonal(b.size());
  matrix.diagonal(diagonal.data());
  double last = 0;
  const double enough = 1e-22 * dot(b, b);
  for (int i = 0; i < 2000 && dot(r, r) > enough; i++) {
    for (std::size_t k = 0; k < b.size(); k++) z[k] = r[k] / diagonal[k];
    const double rz = dot(r, z);
    for (std::size_t k = 0; k < b.size(); k++) p[k] = z[k] + (i == 0 ? 0 : rz / last) * p[k];
    last = rz;
    matrix.apply(p.data(), ap.data());
    const double step = rz / dot(p, ap);
    for (std::size_t k = 0; k < b.size(); k++) {
      u[k] += step * p[k];
      r[k] -= step * ap[k];
    }
  }
  return u;
}

// converges NAME DEGREE an error per level
void converge(const char *name, const Problem &problem, const Domain &domain, int degree, bool hanging) {
  std::string line;
  for (int level = degree == 1 ? 3 : 2, end = level + 2; level < end; level++) {
    Forest forest(MPI_COMM_WORLD, domain, level - (hanging ? 1 : 0));
    if (hanging) forest.refine([](const Point &p, double) { return p[0] + p[1] > 0.9 && p[2] < 0.6; });
    Nodes nodes(forest, degree);
    lay_out(forest, nodes);
    Operator matrix(forest, nodes, problem.coefficient);
    const std::vector<double> u = solved(matrix, right_hand_side(forest, nodes, problem.load));
    line += " " + std::to_string(1e9 * error(forest, nodes, u.data(), problem.solution));
  }
  if (rank() == 0) std::printf("converges %s %d%s\n", name, degree, line.c_str());
}

void convergence() {
  for (int degree = 1; degree <= 4; degree++) {
    converge("jump", jump_problem(1e3), {}, degree, false);
    converge("hanging", smooth_problem(), {}, degree, true);
  }
  converge("deformed", smooth_problem(), {{1, 1, 1}, deformation(0.04)}, 1, false);
  converge("deformed", jump_problem(10), {{1, 1, 1}, deformation(0.04)}, 2, false);
}

// Every rank prints its error.
template <class Attempt> void refused(const char *name, Attempt &&attempt) {
  std::string said = "nothing";
  try {
    attempt();
  } catch (const Error &wrong) {
    said = wrong.what();
  }
  std::printf("refused %s: %s\n", name, said.c_str());
}

void bad_input() {
  const Forest forest(MPI_COMM_WORLD, {}, 2);
  const Nodes nodes(forest, 1);
  const bool odd = rank() % 2 == 1; // on one rank only
  const auto make = [&](double kappa, double epsilon, double theta) {
    OperatorSettings settings;
    settings.overlap.epsilon = epsilon;
    settings.overlap.theta = theta;
    const Operator made(forest, nodes, {[kappa](const Point &) { return kappa; }, false}, settings);
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  refused("negative", [&] { make(odd ? -1 : 1, 1e-4, 0.5); });
  refused("not-a-number", [&] { make(odd ? nan : 1, 1e-4, 0.5); });
  refused("epsilon", [&] { make(1, 0, 0.5); });
  refused("theta", [&] { make(1, 1e-4, odd ? 2 : 0.5); });
  refused("inverted", [&] {
    const Forest folded(MPI_COMM_WORLD, {{1, 1, 1}, deformation(0.5)}, 2);
    const Nodes never(folded, 1);
  });
  refused("unbalanced", [&] {
    Forest steep(MPI_COMM_WORLD, {}, 1);
    for (int i = 0; i < 3; i++)
      steep.refine_unbalanced([](const Point &p, double size) {
        return std::ranges::all_of(p, [&](double x) { return x < 0.5 && x > 0.5 - size; });
      });
    const Nodes never(steep, 1);
  });
  refused("consistent", [&] {
    Operator plain(forest, nodes, {});
    std::vector<double> x(nodes.local()), y(x);
    plain.apply_consistent(x.data(), y.data());
  });
  // One element, for any number of ranks.
  const Forest single(MPI_COMM_WORLD, {}, 0);
  const Nodes eight(single, 1);
  Operator few(single, eight, {}, {.part = Part::mass, .dirichlet = false});
  std::vector<double> ones(eight.owned(), 1), y(ones.size());
  few.apply(ones.data(), y.data());
  const double volume = dot(ones, y);
  if (rank() == 0) std::printf("volume %.15f\n", volume);
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "random" && argc == 4)
    random_cases(static_cast<int>(std::strtol(argv[2], nullptr, 10)),
                 static_cast<int>(std::strtol(argv[3], nullptr, 10)));
  if (what == "converge") convergence();
  if (what == "bad") bad_input();
  MPI_Finalize();
}
