// Bricks of trilinear cubes: families of 2³, a family a lane, and larger ones whose rows lie in the lanes.
#pragma once

#include "fem/kernels/batches.hpp"
#include "fem/kernels/simd_lanes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem::kernels {

// The mesh as the builders of items use it.
struct Mesh {
  const Cells &cells;
  std::span<const std::uint8_t> masked;
  std::size_t nodes; // local ones
  bool reads(std::int32_t node) const {
    return masked.empty() || masked[static_cast<std::size_t>(node)] == 0;
  }
};

// Sees the nodes that an item writes, in the order in which it does: `stores` says whether it may overwrite
// all of them, as their first writer, else they are added to.
class Writes {
public:
  virtual ~Writes() = default;
  virtual bool stores(std::span<const std::int32_t> nodes) = 0;
  virtual void adds(std::int32_t node) = 0;
};

// Further values that are read into or written from a brick's buffer.
struct Entry {
  std::int32_t node;
  std::int32_t position;
  double weight;
};

struct Families {
  static constexpr int places = 27, middles = 18;

  void add(const Mesh &mesh, std::span<const std::int32_t> firsts, Writes &writes);
  void run(std::size_t begin, std::size_t end, const double *x, double *y) const;
  std::size_t bytes() const { return bytes_of(nodes, scale, hanging, weights, begins); }

  std::vector<std::int32_t> nodes;    // item × place × lane; −1: masked, hangs, or no family
  std::vector<double> scale;          // item × element × lane
  std::vector<std::int64_t> hanging;  // an item: where its weights begin, or −1
  std::vector<double> weights;        // of places between others: × middle × lane; 0: does not hang
  std::vector<std::uint32_t> begins;  // of each item's writes, and their end
  std::vector<std::int32_t> targets;  // nodes to add to
  std::vector<std::uint16_t> sources; // and from where
};

struct Rows {
  explicit Rows(int edge) : edge(edge) {}
  void add(const Mesh &mesh, std::span<const std::int32_t> firsts, Writes &writes);
  void run(std::size_t begin, std::size_t end, const double *x, double *y) const;

  std::size_t bytes() const {
    return bytes_of(bases, starts, direct, stores, scale, regular, begins, entries);
  }

  int edge;
  int rows() const { return (edge + 1) * (edge + 1); }
  int bricks() const { return lanes / edge; } // side by side in the lanes
  std::vector<std::int32_t> bases;            // item × row × brick: the node at x = 1, the others follow
  std::vector<std::int32_t> starts;           // item × row × brick: the node at x = 0; −1: in the buffer
  std::vector<std::uint8_t> direct;           // item × row: lanes that are not in the buffer
  std::vector<std::uint8_t> stores;           // item × row
  std::vector<double> scale;                  // item × element row × lane
  std::vector<std::uint8_t> regular;          // an item: nothing is in the buffer
  std::vector<std::uint32_t> begins;          // of each item's entries, and their end
  std::vector<Entry> entries;
};

// κ h / 16, what the column kernel is scaled by.
double scale_of(const Cells &cells, std::int32_t element);

} // namespace haloscope::fem::kernels
