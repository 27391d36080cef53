#include "hide/fem/solve/grids.hpp"

#include "hide/fem/operator/assemble.hpp"

namespace haloscope::fem {

Grids::Grids(Forest finest, int degree, Coefficient coefficient, const OperatorSettings &settings,
             const HierarchySettings &hierarchy)
    : coefficient_(std::move(coefficient)), hierarchy_(std::move(finest), degree, hierarchy) {
  std::vector<Level> &levels = hierarchy_.levels();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    OperatorSettings own = settings;
    own.overlap.phases = phase_count;
    if (i > 0) own.history = nullptr; // the finest's alone
    if (own.overlap.region && i > 0) {
      regions_.push_back(
          std::make_unique<std::string>(std::string(own.overlap.region) + "-level-" + std::to_string(i)));
      own.overlap.region = regions_.back()->c_str();
    }
    lay_out(levels[i].forest, levels[i].nodes);
    operators_.emplace_back(levels[i].forest, levels[i].nodes, coefficient_, own);
  }
}

Linear Grids::linear(std::size_t level) {
  Operator &made = operators_.at(level);
  const Nodes &nodes = hierarchy_.levels().at(level).nodes;
  return {nodes.communicator(), nodes.owned(),
          [&made](const double *x, double *y, int phase) { made.apply(x, y, phase); },
          [&made](double *diagonal) { made.diagonal(diagonal); }, made.messages()};
}

std::unique_ptr<Multigrid> Grids::multigrid(int smoother_degree) {
  const std::vector<Level> &levels = hierarchy_.levels();
  transfers_.clear();
  for (std::size_t i = 0; i + 1 < levels.size(); ++i)
    transfers_.emplace_back(levels[i], levels[i + 1], operators_[i].masked(), operators_[i + 1].masked());
  std::vector<GridLevel> grids;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    grids.push_back({linear(i), {}, {}});
    if (i == transfers_.size()) break;
    Transfer &transfer = transfers_[i];
    grids[i].interpolate = [&transfer](const double *coarse, double *fine) {
      transfer.interpolate(coarse, fine);
    };
    grids[i].restrict_to = [&transfer](const double *fine, double *coarse) {
      transfer.restrict(fine, coarse);
    };
  }
  const Level &coarsest = levels.back();
  return std::make_unique<Multigrid>(grids, assemble(coarsest.forest, coarsest.nodes, coefficient_),
                                     smoother_degree);
}

} // namespace haloscope::fem
