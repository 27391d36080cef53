// One problem on all levels of a hierarchy: operators, what is between them, and multigrid made of both.
#pragma once

#include "hide/fem/mesh/transfer.hpp"
#include "hide/fem/operator/operator.hpp"
#include "hide/fem/solve/multigrid.hpp"

#include <memory>
#include <string>
#include <vector>

namespace haloscope::fem {

class Grids {
public:
  // Collective. Each level's operator has an alpha for each Phase; `settings.overlap.region` names the
  // finest's instances when watched, level N's are region-level-N.
  Grids(Forest finest, int degree, Coefficient coefficient, const OperatorSettings &settings,
        const HierarchySettings &hierarchy = {});

  const Level &finest() const { return hierarchy_.levels().front(); }
  const Hierarchy &hierarchy() const { return hierarchy_; }
  Operator &operator_of(std::size_t level) { return operators_.at(level); }
  Linear linear(std::size_t level); // for as long as this lives and does not move
  // Makes the transfers, and what solves on the coarsest level.
  std::unique_ptr<Multigrid> multigrid(int smoother_degree = 2);

private:
  std::vector<std::unique_ptr<std::string>> regions_;
  Coefficient coefficient_;
  Hierarchy hierarchy_;
  std::vector<Operator> operators_;
  std::vector<Transfer> transfers_;
};

} // namespace haloscope::fem
