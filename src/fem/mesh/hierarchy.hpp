// The levels of a multigrid cycle. First the degree is halved on the same mesh until it is 1, then each level
// coarsens the whole forest, and no element changes its rank.
#pragma once

#include "fem/mesh/ghosts.hpp"
#include "fem/mesh/nodes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace haloscope::fem {

struct Level {
  Forest forest;
  Nodes nodes;
};

struct HierarchySettings {
  std::int64_t coarsest_elements = 64; // of all ranks: no coarser than needed for at most these
  double imbalance = 1.1;              // largest share over the mean that aligning the cuts may cost
  int most_levels = 32;
};

class Hierarchy {
public:
  // Collective. Partitions the finest forest again, so that most meshes can coarsen fully.
  Hierarchy(Forest finest, int degree, const HierarchySettings &settings = {});

  [[nodiscard]] std::vector<Level> &levels() noexcept { return levels_; } // finest first
  [[nodiscard]] const std::vector<Level> &levels() const noexcept { return levels_; }
  [[nodiscard]] int aligned() const noexcept { return aligned_; }        // meshes that coarsen as on one rank
  [[nodiscard]] double imbalance() const noexcept { return imbalance_; } // of the finest

private:
  std::vector<Level> levels_;
  int aligned_ = 0;
  double imbalance_ = 1;
};

// Between two levels of a hierarchy, without matrices: a coarse function's values at the fine nodes.
class Transfer {
public:
  // Collective; after the last renumbering of both. Masks are of local nodes, empty for none: masked
  // nodes are read as 0 and get 0.
  Transfer(const Level &fine, const Level &coarse, std::span<const std::uint8_t> fine_masked = {},
           std::span<const std::uint8_t> coarse_masked = {});
  Transfer(Transfer &&) noexcept;
  Transfer &operator=(Transfer &&) noexcept;
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;
  ~Transfer();

  // Collective. Vectors of owned nodes. The result does not depend on timing, bit by bit.
  void interpolate(const double *coarse, double *fine);
  void restrict(const double *fine, double *coarse); // its transpose

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace haloscope::fem
