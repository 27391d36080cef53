// A small balanced octree with the node numbers of p8est_lnodes, on one rank and by brute force: meshes for
// code without p4est.
#pragma once

#include "fem/kernels/cells.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <unordered_map>

namespace octree {

using haloscope::fem::Leaf;
using Triple = std::array<std::int64_t, 3>;
constexpr std::int64_t width = std::int64_t{1} << haloscope::fem::root_bits;

inline std::int64_t edge(int level) { return width >> level; }

class Mesh {
public:
  explicit Mesh(int level, int degree) : degree(degree) {
    for (std::int64_t z = 0; z < width; z += edge(level))
      for (std::int64_t y = 0; y < width; y += edge(level))
        for (std::int64_t x = 0; x < width; x += edge(level)) add(level, {x, y, z});
  }

  // Splits leaves for whose centre (in [0, 1]³) and size the predicate holds, then balances the mesh.
  void refine(const std::function<bool(std::array<double, 3>, double)> &wanted) {
    std::vector<std::pair<Triple, int>> chosen;
    for (const auto &[key, leaf] : leaves_) {
      const double h = static_cast<double>(edge(leaf.second)) / width;
      std::array<double, 3> centre{};
      for (int d = 0; d < 3; ++d) centre[d] = static_cast<double>(leaf.first[d]) / width + h / 2;
      if (wanted(centre, h)) chosen.push_back(leaf);
    }
    for (const auto &[at, level] : chosen) split(at, level);
  }

  // Fills the arrays behind `cells`.
  void finish() {
    std::vector<std::pair<std::uint64_t, std::pair<Triple, int>>> sorted;
    sorted.reserve(leaves_.size());
    for (const auto &[key, leaf] : leaves_) sorted.emplace_back(morton(leaf.first), leaf);
    std::ranges::sort(sorted);
    for (const auto &[key, leaf] : sorted) {
      const auto [at, level] = leaf;
      leaves.push_back({0, static_cast<std::int32_t>(at[0]), static_cast<std::int32_t>(at[1]),
                        static_cast<std::int32_t>(at[2]), static_cast<std::int8_t>(level)});
      sizes.push_back(static_cast<double>(edge(level)) / width);
      faces.push_back(code(at, level));
      add_nodes(at, level, faces.back());
    }
  }
  haloscope::fem::Cells cells() const {
    haloscope::fem::Cells cells;
    cells.degree = degree, cells.nodes = nodes, cells.faces = faces, cells.leaves = leaves,
    cells.sizes = sizes;
    return cells;
  }

  int degree;
  std::vector<std::int32_t> nodes;
  std::vector<std::uint16_t> faces;
  std::vector<Leaf> leaves;
  std::vector<double> sizes;
  std::vector<std::uint8_t> boundary; // per node

private:
  static std::uint64_t morton(const Triple &at) {
    std::uint64_t key = 0;
    for (int bit = 0; bit < haloscope::fem::root_bits; ++bit)
      for (int d = 0; d < 3; ++d) key |= (static_cast<std::uint64_t>(at[d]) >> bit & 1U) << (3 * bit + d);
    return key;
  }
  static std::uint64_t key_of(const Triple &at, int level) {
    return morton(at) << 5 | static_cast<unsigned>(level);
  }
  void add(int level, const Triple &at) { leaves_[key_of(at, level)] = {at, level}; }
  static bool inside(const Triple &at) {
    return std::ranges::all_of(at, [](auto x) { return x >= 0 && x < width; });
  }
  bool is_leaf(Triple at, int level) const {
    for (auto &x : at) x &= ~(edge(level) - 1);
    return level >= 0 && leaves_.contains(key_of(at, level));
  }
  void split(const Triple &at, int level) {
    if (leaves_.erase(key_of(at, level)) == 0) return;
    const std::int64_t h = edge(level + 1);
    for (int child = 0; child < 8; ++child)
      add(level + 1, {at[0] + (child & 1) * h, at[1] + (child >> 1 & 1) * h, at[2] + (child >> 2) * h});
    for (std::int64_t z = -1; z <= 1; ++z) // whatever touches the children is no more than one level above
      for (std::int64_t y = -1; y <= 1; ++y)
        for (std::int64_t x = -1; x <= 1; ++x) {
          Triple beside{at[0] + x * edge(level), at[1] + y * edge(level), at[2] + z * edge(level)};
          if (!inside(beside) || !is_leaf(beside, level - 1)) continue;
          for (auto &value : beside) value &= ~(edge(level - 1) - 1);
          split(beside, level - 1);
        }
  }
  std::uint16_t code(const Triple &at, int level) const {
    const std::int64_t h = edge(level);
    unsigned child = 0;
    for (int d = 0; d < 3; ++d) child |= static_cast<unsigned>(at[d] / h & 1) << d;
    const auto coarse = [&](int a, int b) { // beyond the corner's faces normal to a and b (a == b: one)
      Triple beside = at;
      for (const int d : {a, b}) beside[d] = at[d] + ((child >> d & 1) != 0 ? h : -h);
      return inside(beside) && is_leaf(beside, level - 1);
    };
    unsigned bits = 0;
    for (int d = 0; d < 3; ++d) {
      const int a = (d + 1) % 3, b = (d + 2) % 3;
      if (coarse(d, d)) bits |= 8U << d;
      if (coarse(a, a) || coarse(b, b) || coarse(a, b)) bits |= 64U << d;
    }
    return static_cast<std::uint16_t>(bits == 0 ? 0 : bits | child);
  }
  void add_nodes(const Triple &at, int level, std::uint16_t code) {
    const std::int64_t h = edge(level);
    for (int k = 0; k <= degree; ++k)
      for (int j = 0; j <= degree; ++j)
        for (int i = 0; i <= degree; ++i) {
          const std::array<int, 3> local{i, j, k};
          std::array<bool, 3> side{};
          for (int d = 0; d < 3; ++d) side[d] = local[d] == ((code >> d & 1) != 0 ? degree : 0);
          Triple place{};
          for (int d = 0; d < 3; ++d) {
            const int a = (d + 1) % 3, b = (d + 2) % 3;
            const bool large = (side[a] && (code >> (3 + a) & 1) != 0) ||
                               (side[b] && (code >> (3 + b) & 1) != 0) ||
                               (side[a] && side[b] && (code >> (6 + d) & 1) != 0);
            const std::int64_t begin = large && (code >> d & 1) != 0 ? at[d] - h : at[d];
            place[d] = begin * degree + local[d] * (large ? 2 * h : h);
          }
          const auto [found, added] = numbers_.try_emplace(place, static_cast<std::int32_t>(numbers_.size()));
          nodes.push_back(found->second);
          if (added)
            boundary.push_back(
                std::ranges::any_of(place, [this](auto x) { return x == 0 || x == width * degree; }));
        }
  }

  struct Hash {
    std::size_t operator()(const Triple &t) const {
      std::uint64_t h = 0;
      for (const auto x : t) h = (h ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15U, h ^= h >> 29;
      return h;
    }
  };
  std::unordered_map<std::uint64_t, std::pair<Triple, int>> leaves_;
  std::unordered_map<Triple, std::int32_t, Hash> numbers_;
};

} // namespace octree
