// Plans against dense reference elements. Reads a degree, its Gauss-Lobatto nodes, Gauss points and weights.
// Prints lines "name difference", relative to the largest value.
#include "fem/kernels/kernel_plan.hpp"

#include "octree.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

using namespace haloscope::fem;
using Values = std::vector<double>;

namespace {

std::mt19937_64 engine; // NOLINT(bugprone-throwing-static-initialization,bugprone-random-generator-seed)
double draw(double from, double to) { return std::uniform_real_distribution(from, to)(engine); }
Values random_values(std::size_t count, double from = -1, double to = 1) {
  Values values(count);
  for (double &value : values) value = draw(from, to);
  return values;
}

struct Rule {
  Values nodes, points, weights;
};

double lagrange(const Values &nodes, int i, double x, bool slope) {
  double sum = 0, product = 1;
  const int n = static_cast<int>(nodes.size());
  for (int j = 0; j < n; ++j)
    if (j != i) product *= (x - nodes[j]) / (nodes[i] - nodes[j]);
  if (!slope) return product;
  for (int left_out = 0; left_out < n; ++left_out) {
    if (left_out == i) continue;
    double term = 1 / (nodes[i] - nodes[left_out]);
    for (int j = 0; j < n; ++j)
      if (j != i && j != left_out) term *= (x - nodes[j]) / (nodes[i] - nodes[j]);
    sum += term;
  }
  return sum;
}

// Computes all results by sums over all points and nodes.
class Reference {
public:
  Reference(Cells cells, Values corners, const Rule &rule)
      : cells_(cells), corners_(std::move(corners)), rule_(rule) {
    n_ = cells.degree + 1;
    for (int q = 0; q < n_; ++q)
      for (int i = 0; i < n_; ++i) {
        value_.push_back(lagrange(rule.nodes, i, rule.points[q], false));
        slope_.push_back(lagrange(rule.nodes, i, rule.points[q], true));
      }
  }

  Values apply(const std::vector<std::int32_t> &elements, const std::vector<std::uint8_t> &masked,
               const Choices &choices, const Values &x) const {
    Values y(x.size());
    const int count = n_ * n_ * n_;
    for (const std::int32_t element : elements) {
      const std::int32_t *nodes = &cells_.nodes[static_cast<std::size_t>(element) * count];
      const Values c = constraint(cells_.faces.empty() ? 0 : cells_.faces[element]);
      Values u(count), v(count);
      for (int p = 0; p < count; ++p)
        for (int q = 0; q < count; ++q)
          if (masked[nodes[q]] == 0) u[p] += c[p * count + q] * x[nodes[q]];
      integrate(element, choices, u, v);
      for (int p = 0; p < count; ++p)
        for (int q = 0; q < count; ++q)
          if (masked[nodes[q]] == 0) y[nodes[q]] += c[p * count + q] * v[p];
    }
    return y;
  }

private:
  void gradient(int node, int i, int j, int k, double *g) const {
    const int a = node % n_, b = node / n_ % n_, c = node / (n_ * n_);
    const auto value = [&](int q, int p) { return value_[q * n_ + p]; };
    const auto slope = [&](int q, int p) { return slope_[q * n_ + p]; };
    g[0] = slope(i, a) * value(j, b) * value(k, c);
    g[1] = value(i, a) * slope(j, b) * value(k, c);
    g[2] = value(i, a) * value(j, b) * slope(k, c);
    g[3] = value(i, a) * value(j, b) * value(k, c);
  }

  void integrate(int element, const Choices &choices, const Values &u, Values &v) const {
    const int count = n_ * n_ * n_;
    for (int q = 0; q < count; ++q) {
      const int i = q % n_, j = q / n_ % n_, k = q / (n_ * n_);
      double jacobian[3][3] = {}, g[4];
      for (int corner = 0; corner < 8; ++corner) {
        const double t[3] = {rule_.points[i], rule_.points[j], rule_.points[k]};
        for (int d = 0; d < 3; ++d) {
          double shape = 1;
          for (int e = 0; e < 3; ++e) {
            const bool high = (corner >> e & 1) != 0;
            shape *= e == d ? (high ? 1 : -1) : (high ? t[e] : 1 - t[e]);
          }
          for (int r = 0; r < 3; ++r) jacobian[r][d] += shape * corners_[element * 24 + corner * 3 + r];
        }
      }
      const auto minor = [&](int r, int d) {
        const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, d1 = (d + 1) % 3, d2 = (d + 2) % 3;
        return jacobian[r1][d1] * jacobian[r2][d2] - jacobian[r1][d2] * jacobian[r2][d1];
      };
      double determinant = 0, total[4] = {};
      for (int d = 0; d < 3; ++d) determinant += jacobian[0][d] * minor(0, d);
      const auto physical = [&](const double *reference, int r) {
        double sum = 0;
        for (int d = 0; d < 3; ++d) sum += minor(r, d) / determinant * reference[d];
        return sum;
      };
      for (int p = 0; p < count; ++p) {
        gradient(p, i, j, k, g);
        for (int r = 0; r < 3; ++r) total[r] += u[p] * physical(g, r);
        total[3] += u[p] * g[3];
      }
      const double kappa =
          cells_.pointwise() ? cells_.coefficient[element * count + q] : cells_.coefficient[element];
      const double w = kappa * determinant * rule_.weights[i] * rule_.weights[j] * rule_.weights[k];
      const int axis = static_cast<int>(choices.part) - static_cast<int>(Part::derivative_x);
      for (int p = 0; p < count; ++p) {
        gradient(p, i, j, k, g);
        if (choices.part == Part::stiffness)
          for (int r = 0; r < 3; ++r) v[p] += w * total[r] * physical(g, r);
        else if (choices.part == Part::mass)
          v[p] += w * total[3] * g[3];
        else if (choices.transposed)
          v[p] += w * total[3] * physical(g, axis);
        else
          v[p] += w * total[axis] * g[3];
      }
    }
  }

  // Per node: values of nodes on hanging faces and edges come from the larger entity's polynomial.
  Values constraint(unsigned code) const {
    const int count = n_ * n_ * n_;
    Values c(static_cast<std::size_t>(count) * count);
    for (int p = 0; p < count; ++p) {
      const int at[3] = {p % n_, p / n_ % n_, p / (n_ * n_)};
      bool side[3], large[3] = {};
      for (int d = 0; d < 3; ++d) side[d] = at[d] == ((code >> d & 1) != 0 ? n_ - 1 : 0);
      for (int d = 0; d < 3; ++d) {
        if (side[d] && (code >> (3 + d) & 1) != 0) large[(d + 1) % 3] = large[(d + 2) % 3] = true;
        if (side[(d + 1) % 3] && side[(d + 2) % 3] && (code >> (6 + d) & 1) != 0) large[d] = true;
      }
      for (int q = 0; q < count; ++q) {
        const int from[3] = {q % n_, q / n_ % n_, q / (n_ * n_)};
        double product = 1;
        for (int d = 0; d < 3; ++d) {
          const double place = (rule_.nodes[at[d]] + (code >> d & 1)) / 2;
          product *= large[d] ? lagrange(rule_.nodes, from[d], place, false) : at[d] == from[d] ? 1 : 0;
        }
        c[p * count + q] = product;
      }
    }
    return c;
  }

  Cells cells_;
  Values corners_;
  Rule rule_;
  int n_;
  Values value_, slope_;
};

double difference(const Values &a, const Values &b) {
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    apart = std::max(apart, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : HUGE_VAL);
  }
  return apart / largest;
}

void say(const std::string &what, double value) { std::printf("%s %.3e\n", what.c_str(), value); }

Values run(const Plan &plan, const Values &x, Values y) {
  for (std::size_t begin = 0; begin < plan.items();) { // any ranges
    const std::size_t end = std::min(plan.items(), begin + 1 + engine() % 5);
    plan.run(begin, end, x.data(), y.data());
    begin = end;
  }
  return y;
}

struct Case {
  std::string name;
  octree::Mesh mesh;
  bool cubes, pointwise;
};

void renumber(octree::Mesh &mesh, const std::vector<std::int32_t> &new_of_old) {
  for (std::int32_t &node : mesh.nodes) node = new_of_old[node];
  const std::vector<std::uint8_t> old = mesh.boundary;
  for (std::size_t i = 0; i < old.size(); ++i) mesh.boundary[new_of_old[i]] = old[i];
}

void check_numbers(const std::string &name, const std::vector<std::int32_t> &numbers) {
  std::vector<std::int32_t> sorted = numbers;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int32_t>(i)) say(name + "-layout", 1);
}

// A list of some leaves, whose neighbours in the list need not be neighbours in the mesh.
void leave_gaps(octree::Mesh &mesh) {
  octree::Mesh kept = mesh;
  kept.nodes.clear(), kept.faces.clear(), kept.leaves.clear(), kept.sizes.clear();
  for (std::size_t e = 0; e < mesh.leaves.size(); ++e) {
    if (engine() % 9 == 0) continue;
    kept.nodes.insert(kept.nodes.end(), mesh.nodes.begin() + static_cast<std::ptrdiff_t>(8 * e),
                      mesh.nodes.begin() + static_cast<std::ptrdiff_t>(8 * e + 8));
    kept.faces.push_back(mesh.faces[e]), kept.leaves.push_back(mesh.leaves[e]);
    kept.sizes.push_back(mesh.sizes[e]);
  }
  mesh = std::move(kept);
}

void check(Case &given, const Rule &rule, bool laid_out) {
  octree::Mesh &mesh = given.mesh;
  Cells cells = mesh.cells();
  const std::size_t count = cells.elements(), nodes = mesh.boundary.size();
  std::vector<char> mirror(count);
  if (engine() % 2 == 0)
    for (char &flag : mirror) flag = engine() % 20 == 0 ? 1 : 0;
  const auto numbers = layout(cells, mirror, nodes);
  check_numbers(given.name, numbers);
  Cells constant = cells; // sizes are requested before there is a coefficient, for the same bricks
  const Values one(count, 1);
  constant.coefficient = one;
  if (layout(constant, mirror, nodes) != numbers) say(given.name + "-layout", 1);
  if (laid_out) renumber(mesh, numbers);
  Values corners;
  for (std::size_t e = 0; e < count; ++e)
    for (int i = 0; i < 24; ++i) {
      const int d = i % 3;
      const double origin = d == 0 ? mesh.leaves[e].x : d == 1 ? mesh.leaves[e].y : mesh.leaves[e].z;
      const double place = origin / octree::width + ((i / 3) >> d & 1) * mesh.sizes[e];
      corners.push_back(place + (given.cubes ? 0 : draw(-0.15, 0.15) * mesh.sizes[e]));
    }
  const Values coefficient = random_values(given.pointwise ? mesh.nodes.size() : count, 0.1, 2);
  cells.cubes = given.cubes, cells.coefficient = coefficient;
  if (!given.cubes) cells.corners = corners;
  std::vector<std::int32_t> elements;
  for (std::size_t e = 0; e < count; ++e)
    if (mirror[e] == 0) elements.push_back(static_cast<std::int32_t>(e));
  std::vector<std::uint8_t> masked = mesh.boundary;
  if (engine() % 2 == 0)
    for (auto &mask : masked) mask = engine() % 10 == 0 ? 1 : 0;
  const Reference reference(cells, corners, rule);
  const Values x = random_values(nodes), other = random_values(nodes), before = random_values(nodes);

  std::vector<Choices> all{{}};
  if (!given.pointwise)
    for (const Part part : {Part::mass, Part::derivative_x, Part::derivative_y, Part::derivative_z})
      if (cells.degree < 5 || part == Part::derivative_y) all.push_back({part}), all.push_back({part, true});
  Choices plain;
  plain.bricks = false;
  if (cells.degree == 1) all.push_back(plain);
  for (Choices choices : all) {
    const std::string name = given.name + "-part" + std::to_string(static_cast<int>(choices.part)) +
                             (choices.transposed ? "-transposed" : "") + (choices.bricks ? "" : "-plain");
    const Values expected = reference.apply(elements, masked, choices, x);
    const Plan adds(cells, elements, masked, choices);
    Values sum = expected;
    for (std::size_t i = 0; i < nodes; ++i) sum[i] += before[i];
    const Values y = run(adds, x, before);
    say(name, difference(y, sum));
    if (y != run(adds, x, before)) say(name + "-reproducible", 1);
    choices.first_rows = nodes;
    const Plan stores(cells, elements, masked, choices);
    const Values stored = run(stores, x, Values(nodes, std::nan("")));
    say(name + "-first", difference(stored, expected));
    if (choices.part != Part::stiffness) continue;
    const Values back = run(stores, other, Values(nodes, std::nan("")));
    double left = 0, right = 0, scale = 0;
    for (std::size_t i = 0; i < nodes; ++i)
      left += other[i] * stored[i], right += back[i] * x[i], scale += std::abs(other[i] * stored[i]);
    say(name + "-symmetric", std::abs(left - right) / scale);
    double elements_of_items = -static_cast<double>(elements.size());
    for (const float weight : adds.weights()) elements_of_items += weight;
    say(name + "-weights", std::abs(elements_of_items));
    Values diagonal(nodes), exact(nodes);
    adds.diagonal(diagonal.data());
    for (int trial = 0; trial < 4; ++trial) {
      Values unit(nodes);
      const std::size_t at = engine() % nodes;
      unit[at] = 1;
      exact[at] = reference.apply(elements, masked, choices, unit)[at];
      say(name + "-diagonal",
          std::abs(diagonal[at] - exact[at]) / (std::abs(exact[at]) + 1e-30 + diagonal[0] * 0));
      if (cells.degree > 3) break;
    }
  }
}

octree::Mesh mesh_of(int degree, int level, int passes) {
  octree::Mesh mesh(level, degree);
  const std::array<double, 3> middle{draw(0, 1), draw(0, 1), draw(0, 1)};
  for (int pass = 0; pass < passes; ++pass)
    mesh.refine([&](std::array<double, 3> centre, double size) {
      double square = 0;
      for (int d = 0; d < 3; ++d) square += (centre[d] - middle[d]) * (centre[d] - middle[d]);
      return std::sqrt(square) < 1.2 * size;
    });
  mesh.finish();
  return mesh;
}

} // namespace

int main(int, char **arguments) {
  engine.seed(std::strtoull(arguments[1], nullptr, 10));
  Rule rule;
  int degree = 0;
  std::cin >> degree;
  for (Values *values : {&rule.nodes, &rule.points, &rule.weights}) {
    values->resize(static_cast<std::size_t>(degree) + 1);
    for (double &value : *values) std::cin >> value;
  }
  const int passes = degree > 5 ? 1 : 2;
  std::vector<Case> cases;
  cases.push_back({"cubes", mesh_of(degree, 1, passes), true, false});
  cases.push_back({"pointwise", mesh_of(degree, 1, 1), true, true});
  cases.push_back({"deformed", mesh_of(degree, 1, passes), false, false});
  cases.push_back({"deformed-pointwise", mesh_of(degree, 1, 1), false, true});
  if (degree == 1)
    for (const int level : {2, 3, 4}) {
      cases.push_back({"uniform" + std::to_string(level), mesh_of(1, level, 0), true, false});
      cases.push_back({"refined" + std::to_string(level), mesh_of(1, level, 2), true, false});
    }
  for (Case &given : cases) check(given, rule, engine() % 2 == 0 || degree == 1);
  if (degree == 1) {
    Case unordered{"unordered", mesh_of(1, 3, 1), true, false};
    check(unordered, rule, false);
    Case gaps{"gaps", mesh_of(1, 4, 0), true, false};
    leave_gaps(gaps.mesh);
    check(gaps, rule, true);
  }
  return 0;
}
