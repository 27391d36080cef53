#include "hide/fem/operator/operator.hpp"

#include "hide/fem/mesh/error.hpp"
#include "hide/fem/operator/work.hpp"

namespace haloscope::fem {

void lay_out(const Forest &forest, Nodes &nodes) {
  const std::vector<double> sizes = forest.sizes();
  const Cells cells{
      nodes.degree(), forest.cubes(), nodes.element_nodes(), nodes.faces(), forest.leaves(), {}, sizes, {}};
  nodes.renumber(layout(cells, nodes.mirror(), nodes.owned()));
}

Operator::Operator(const Forest &forest, const Nodes &nodes, const Coefficient &coefficient,
                   const OperatorSettings &settings)
    : work_(std::make_unique<Work>(forest, nodes, coefficient, settings)) {}
Operator::Operator(Operator &&) noexcept = default;
Operator &Operator::operator=(Operator &&) noexcept = default;
Operator::~Operator() = default;

void Operator::apply(const double *x, double *y, int phase) {
  work_->consistent ? work_->run_with_ghosts(x, y, phase) : work_->run(x, y, phase);
}

void Operator::apply_consistent(const double *x, double *y, int phase) {
  if (!work_->consistent) throw Error("operator: apply_consistent needs settings.overlap.consistent");
  work_->run(x, y, phase);
}

void Operator::diagonal(double *result) { work_->diagonal(result); }

std::size_t Operator::owned() const noexcept { return work_->owned; }
std::size_t Operator::local() const noexcept { return work_->local; }
std::span<const std::uint8_t> Operator::masked() const noexcept { return work_->masked; }
double Operator::alpha(int phase) const { return work_->overlap->alpha(phase); }
const Overlap::Times &Operator::times() const noexcept { return work_->times; }
std::size_t Operator::items() const noexcept { return work_->units->count(); }
int Operator::messages() const noexcept {
  return static_cast<int>(work_->channels.input.sends.size() + work_->channels.output.sends.size());
}
double Operator::flops() const noexcept { return work_->interior->flops() + work_->mirrors->plan().flops(); }
double Operator::bytes() const noexcept { return work_->interior->bytes() + work_->mirrors->plan().bytes(); }

} // namespace haloscope::fem
