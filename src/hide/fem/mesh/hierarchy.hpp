// The meshes of a multigrid cycle: each level coarsens the whole forest, and no element changes its rank.
#pragma once

#include "hide/fem/mesh/nodes.hpp"

#include <cstdint>
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
  // Collective. Partitions the finest forest anew, so that as many levels as can be coarsen fully.
  Hierarchy(Forest finest, int degree, const HierarchySettings &settings = {});

  [[nodiscard]] std::vector<Level> &levels() noexcept { return levels_; } // finest first
  [[nodiscard]] const std::vector<Level> &levels() const noexcept { return levels_; }
  [[nodiscard]] int aligned() const noexcept { return aligned_; }        // levels that coarsen as on one rank
  [[nodiscard]] double imbalance() const noexcept { return imbalance_; } // of the finest

private:
  std::vector<Level> levels_;
  int aligned_ = 0;
  double imbalance_ = 1;
};

} // namespace haloscope::fem
