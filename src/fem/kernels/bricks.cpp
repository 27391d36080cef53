#include "fem/kernels/bricks.hpp"

#include "fem/kernels/column.hpp"
#include "fem/kernels/items.hpp"

#include <array>

namespace haloscope::fem::kernels {

namespace {

// The places between the corners of a family, and which corners they lie between.
struct Middle {
  int place, corners[4], count;
};

constexpr std::array<Middle, Families::middles> make_middles() {
  std::array<Middle, Families::middles> all{};
  int next = 0;
  for (int place = 0; place < Families::places; ++place) {
    const int at[3] = {place % 3, place / 3 % 3, place / 9};
    const int between = (at[0] == 1 ? 1 : 0) + (at[1] == 1 ? 1 : 0) + (at[2] == 1 ? 1 : 0);
    if (between == 0 || between == 3) continue;
    Middle &middle = all[static_cast<std::size_t>(next++)];
    middle.place = place;
    for (int corner = 0; corner < 27; ++corner) {
      const int of[3] = {corner % 3, corner / 3 % 3, corner / 9};
      bool ends = true;
      for (int d = 0; d < 3; ++d) ends = ends && of[d] != 1 && (at[d] == 1 || of[d] == at[d]);
      if (ends) middle.corners[middle.count++] = corner;
    }
  }
  return all;
}
constexpr auto middles = make_middles();

void from_corners(const double *weights, Lanes *v) {
#pragma GCC unroll 18
  for (const Middle &middle : middles) {
    Lanes sum = v[middle.corners[0]] + v[middle.corners[1]];
    if (middle.count == 4) sum += v[middle.corners[2]] + v[middle.corners[3]];
    v[middle.place] += load(weights) * sum;
    weights += lanes;
  }
}

void to_corners(const double *weights, Lanes *v) {
#pragma GCC unroll 18
  for (const Middle &middle : middles) {
    const Lanes part = load(weights) * v[middle.place];
#pragma GCC unroll 4
    for (int i = 0; i < middle.count; ++i) v[middle.corners[i]] += part;
    weights += lanes;
  }
}

void apply(const double *scale, const Lanes *v, Lanes *result) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const auto read = [&](int row) {
      const Lanes *from = v + std::ptrdiff_t{row} * 3 + half;
      return Ends{from[0], from[1]};
    };
    const auto write = [&](int row, Ends ends) {
      Lanes *to = result + std::ptrdiff_t{row} * 3;
      to[half] = half == 0 ? ends.left : to[1] + ends.left;
      to[half + 1] = ends.right;
    };
    column<2>(read, write, [&](int yz) { return load(scale, 2 * yz + half); });
  }
}

} // namespace

double scale_of(const Cells &cells, std::int32_t element) {
  const auto at = static_cast<std::size_t>(element);
  return cells.coefficient[at] * cells.sizes[at] / 16;
}

void Families::add(const Mesh &mesh, std::span<const std::int32_t> firsts, Writes &writes) {
  const std::size_t item = hanging.size();
  nodes.resize((item + 1) * places * lanes, -1);
  scale.resize((item + 1) * 8 * lanes, 0);
  std::array<double, static_cast<std::size_t>(middles) * lanes> between{};
  bool hangs = false;
  if (begins.empty()) begins.push_back(0);
  for (std::size_t lane = 0; lane < firsts.size(); ++lane) {
    const Lattice lattice(mesh.cells, firsts[lane], 2);
    for (std::size_t place = 0; place < places; ++place)
      if (const auto node = lattice.places[place].node; node >= 0 && mesh.reads(node))
        nodes[(item * places + place) * lanes + lane] = node;
    for (std::size_t i = 0; i < middles; ++i)
      if (const auto &parents = lattice.places[static_cast<std::size_t>(kernels::middles[i].place)].parents;
          lattice.places[static_cast<std::size_t>(kernels::middles[i].place)].node < 0)
        between[i * lanes + lane] = 1 / static_cast<double>(parents.size()), hangs = true;
    for (std::int32_t child = 0; child < 8; ++child)
      scale[(item * 8 + static_cast<std::size_t>(child)) * lanes + lane] =
          scale_of(mesh.cells, firsts[lane] + child);
  }
  hanging.push_back(hangs ? static_cast<std::int64_t>(weights.size()) : -1);
  if (hangs) weights.insert(weights.end(), between.begin(), between.end());
  for (std::size_t i = 0; i < places * std::size_t{lanes}; ++i) {
    const std::int32_t node = nodes[item * places * lanes + i];
    if (node < 0) continue;
    writes.adds(node);
    targets.push_back(node);
    sources.push_back(static_cast<std::uint16_t>(i));
  }
  begins.push_back(static_cast<std::uint32_t>(targets.size()));
}

void Families::run(std::size_t begin, std::size_t end, const double *x, double *y) const {
  Lanes v[places], result[places];
  double out[places * lanes];
  constexpr std::size_t all = places * std::size_t{lanes};
  for (std::size_t item = begin; item < end; ++item) {
    const std::int32_t *index = nodes.data() + item * all;
    for (int place = 0; place < places; ++place)
      v[place] = gather_present(x, index + std::ptrdiff_t{place} * lanes);
    const double *between = hanging[item] < 0 ? nullptr : weights.data() + hanging[item];
    if (between != nullptr) from_corners(between, v);
    apply(scale.data() + item * 8 * lanes, v, result);
    if (between != nullptr) to_corners(between, result);
    for (int place = 0; place < places; ++place) store(out, place, result[place]);
    const std::size_t first = begins[item], last = begins[item + 1];
    if (last - first == all)
      for (std::size_t i = 0; i < all; ++i) y[index[i]] += out[i];
    else
      for (std::size_t i = first; i < last; ++i) y[targets[i]] += out[sources[i]];
  }
}

} // namespace haloscope::fem::kernels
