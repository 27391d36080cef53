// The mesh: a forest of octrees, distributed over the ranks along its space-filling curve.
#pragma once

#include "fem/kernels/cells.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

struct p8est;

namespace haloscope::fem {

using Point = std::array<double, 3>;

// A brick of equal cubic trees, in the unit cube: the longest direction has length 1.
struct Domain {
  std::array<int, 3> trees{1, 1, 1};
  // Maps vertices one to one; empty: the identity. Elements are trilinear images of their 8 corners.
  std::function<Point(Point)> deformation;
};

// Every constructor and every function that is not const is collective; so are coarsened() and all_….
class Forest {
public:
  // Whether an element is to be refined, by its centre and edge length before the deformation.
  using Predicate = std::function<bool(Point centre, double size)>;

  Forest(MPI_Comm communicator, const Domain &domain, int level); // 2^(3 level) elements a tree
  Forest(Forest &&) noexcept;
  Forest &operator=(Forest &&) noexcept;
  Forest(const Forest &) = delete;
  Forest &operator=(const Forest &) = delete;
  ~Forest();

  void refine(const Predicate &wanted, int passes = 1); // then balances and partitions
  void refine_unbalanced(const Predicate &wanted);      // one pass, nothing else: for tests of errors
  void balance();                                       // 2:1 over faces, edges and corners
  // Equal shares, except that no cut splits what `aligned_levels` coarsenings would merge.
  void partition(int aligned_levels = 0);
  // The most levels that keep the largest share within `imbalance` times what equal shares have.
  [[nodiscard]] int alignment(double imbalance) const;
  // Returns the forest in which every family of eight that is complete on one rank is merged once, balanced.
  // A leaf of it is a leaf of this forest on the same rank, or eight of them.
  [[nodiscard]] Forest coarsened() const;
  [[nodiscard]] Forest copy() const;
  // Collective. The most levels, up to `most`, of which each has eight times fewer leaves, all of one size on
  // all ranks.
  [[nodiscard]] int uniform_levels(int most) const;
  [[nodiscard]] Forest without_levels(int levels) const; // at most uniform_levels

  [[nodiscard]] MPI_Comm communicator() const noexcept;
  [[nodiscard]] std::size_t elements() const noexcept { return leaves_.size(); }
  [[nodiscard]] std::int64_t all_elements() const noexcept;
  [[nodiscard]] std::int64_t first() const noexcept; // of this rank's, in the order of all
  [[nodiscard]] double imbalance() const;            // most elements of a rank over the mean
  [[nodiscard]] bool cubes() const noexcept { return !deformation_; }
  [[nodiscard]] bool balanced() const noexcept { return balanced_; }              // for certain
  [[nodiscard]] std::span<const Leaf> leaves() const noexcept { return leaves_; } // Morton order
  [[nodiscard]] std::vector<double> sizes() const;                                // edges, undeformed

  // Before the deformation: the lower corner of a leaf, and its edge.
  [[nodiscard]] Point corner(const Leaf &leaf) const noexcept;
  [[nodiscard]] double size(const Leaf &leaf) const noexcept;
  [[nodiscard]] Point deformed(const Point &point) const {
    return deformation_ ? deformation_(point) : point;
  }
  // Bits 0 … 5: the leaf's face −x, +x, −y … is on the domain's boundary.
  [[nodiscard]] unsigned boundary(const Leaf &leaf) const noexcept;

  [[nodiscard]] ::p8est *get() const noexcept; // for Nodes
  struct Shared;                               // what all levels share: connectivity, communicator

private:
  struct Destroy {
    void operator()(::p8est *forest) const noexcept;
  };
  Forest() = default;
  void refine_once(const Predicate &wanted);
  void read();                                                    // leaves_, from p8est
  [[nodiscard]] std::vector<std::int64_t> cuts(int levels) const; // first element of each rank, and the end

  std::shared_ptr<Shared> shared_;
  std::function<Point(Point)> deformation_;
  std::unique_ptr<::p8est, Destroy> forest_;
  std::vector<Leaf> leaves_;
  bool balanced_ = true;
};

} // namespace haloscope::fem

namespace haloscope::fem {

// The trilinear image of the unit cube.

// Trilinear interpolation of 8 corners, x fastest, three coordinates each.
inline Point trilinear(std::span<const double, 24> corners, const Point &at) {
  Point image{};
  for (std::size_t corner = 0; corner < 8; corner++) {
    double weight = 1;
    for (std::size_t d = 0; d < 3; d++) weight *= (corner >> d & 1U) != 0 ? at[d] : 1 - at[d];
    for (std::size_t d = 0; d < 3; d++) image[d] += weight * corners[3 * corner + d];
  }
  return image;
}

// Its Jacobian's determinant: how much larger than the unit cube it is there; not positive: inverted.
inline double determinant(std::span<const double, 24> corners, const Point &at) {
  std::array<Point, 3> columns{}; // by x, y, z of the unit cube
  for (std::size_t corner = 0; corner < 8; corner++)
    for (std::size_t by = 0; by < 3; by++) {
      double weight = 1;
      for (std::size_t d = 0; d < 3; d++) {
        const bool upper = (corner >> d & 1U) != 0;
        weight *= d == by ? (upper ? 1 : -1) : (upper ? at[d] : 1 - at[d]);
      }
      for (std::size_t d = 0; d < 3; d++) columns[by][d] += weight * corners[3 * corner + d];
    }
  const auto &[a, b, c] = columns;
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
         a[2] * (b[0] * c[1] - b[1] * c[0]);
}

} // namespace haloscope::fem
