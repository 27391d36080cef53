#include "hide/fem/mesh/hierarchy.hpp"

#include <utility>

namespace haloscope::fem {

Hierarchy::Hierarchy(Forest finest, int degree, const HierarchySettings &settings) {
  aligned_ = finest.alignment(settings.imbalance);
  finest.partition(aligned_);
  imbalance_ = finest.imbalance();
  Nodes nodes(finest, degree);
  levels_.push_back({std::move(finest), std::move(nodes)});
  while (std::cmp_less(levels_.size(), settings.most_levels)) {
    const Forest &fine = levels_.back().forest;
    if (fine.all_elements() <= settings.coarsest_elements) break;
    Forest coarse = fine.coarsened();
    if (2 * coarse.all_elements() > fine.all_elements()) break; // not worth a level
    Nodes coarse_nodes(coarse, degree);
    levels_.push_back({std::move(coarse), std::move(coarse_nodes)});
  }
}

} // namespace haloscope::fem
