#include "parameters.hpp"

#include "../common/require.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>

namespace poisson {

using apps::require;
using apps::require_one_of;

namespace {

const std::map<std::string, haloscope_overlap_policy> &policies() {
  static const std::map<std::string, haloscope_overlap_policy> names{
      {"fixed", HALOSCOPE_OVERLAP_FIXED},     {"dynamic", HALOSCOPE_OVERLAP_DYNAMIC},
      {"test", HALOSCOPE_OVERLAP_TEST},       {"adaptive", HALOSCOPE_OVERLAP_ADAPTIVE},
      {"regimes", HALOSCOPE_OVERLAP_REGIMES}, {"gather", HALOSCOPE_OVERLAP_DYNAMIC}};
  return names;
}

} // namespace

apps::Options options(Parameters &p) {
  apps::Options o("poisson",
                  "Solves -div(kappa grad u) = f on the unit cube, whose solution is known, without a "
                  "matrix.");
  o.add("level", p.level, "N", "8^N elements before refinements");
  o.add("degree", p.degree, "K", "of the elements, 1 to 8");
  o.add("deform", p.deform, "A", "move points inside the cube by at most this, up to 0.05");
  o.add("jump", p.jump, "X", "kappa is 1 for x < 1/2 and this beyond");
  o.add("pointwise", p.pointwise, "", "a smooth kappa, taken at the quadrature points, in place of the jump");
  o.add("refine", p.refine, "WHERE", "none, ball, band, or sphere (its surface)");
  o.add("refinements", p.refinements, "N", "levels of it");
  o.add("solver", p.solver, "NAME",
        "matvec, cg, gmg, gamg, pipelined, pipelined-gmg, gmres-gmg, s-step, or block");
  o.add("steps", p.steps, "S", "of the s-step solver between two reductions");
  o.add("smoother", p.smoother_degree, "K",
        "degree of multigrid's Chebyshev smoothers, 1 to 4; 0: 2, and 3 from elements of degree 6 on");
  o.add("jacobi", p.jacobi, "", "precondition cg, pipelined and s-step with the diagonal");
  o.add("policy", p.policy, "NAME",
        "fixed, dynamic, test, adaptive, regimes, or gather (consistent vectors)");
  o.add("alpha", p.alpha, "A", "share of the inner elements that come before the mirrors, to begin with");
  o.add("theta", p.theta, "T", "damping of alpha");
  o.add("epsilon", p.epsilon, "SECONDS", "waiting that does not count");
  o.add("regimes", p.regimes, "FILE", "a model for --policy regimes");
  o.add("iterations", p.iterations, "N", "at most");
  o.add("tolerance", p.tolerance, "R", "stop when the residual has shrunk to this");
  o.add("runs", p.runs, "N", "solve this often");
  o.add("csv", p.csv, "FILE", "write alpha and times of each product on the finest mesh, by rank");
  return o;
}

void require_valid(const Parameters &p) {
  require(p.level >= 0 && p.level <= 10, "--level must be from 0 to 10, not " + std::to_string(p.level));
  require(p.degree >= 1 && p.degree <= 8, "--degree must be from 1 to 8, not " + std::to_string(p.degree));
  require(p.deform >= 0 && p.deform <= 0.05, "--deform must be from 0 to 0.05, or elements are inverted");
  require(p.refinements >= 0 && p.refinements <= 8, "--refinements must be from 0 to 8");
  require(p.steps >= 1 && p.steps <= 16, "--steps must be from 1 to 16, not " + std::to_string(p.steps));
  require(p.smoother_degree >= 0 && p.smoother_degree <= 4, "--smoother must be from 0 to 4");
  require(p.iterations >= 1, "--iterations must be 1 or more");
  require(p.runs >= 1, "--runs must be 1 or more");
  require(p.tolerance >= 0, "--tolerance must be 0 or more");
  require_one_of("--refine", p.refine, {"none", "ball", "band", "sphere"});
  require_one_of(
      "--solver", p.solver,
      {"matvec", "cg", "gmg", "gamg", "pipelined", "pipelined-gmg", "gmres-gmg", "s-step", "block"});
  require_one_of("--policy", p.policy, {"fixed", "dynamic", "test", "adaptive", "regimes", "gather"});
  require(p.policy != "regimes" || !p.regimes.empty(), "--policy regimes needs a model: --regimes FILE");
}

Policy::Policy(const Parameters &parameters) : parameters_(&parameters) {
  if (parameters.regimes.empty()) return;
  std::ifstream text(parameters.regimes);
  if (!text) throw apps::UsageError("--regimes " + parameters.regimes + ": cannot be read");
  try {
    regimes_ = haloscope::Regimes::read(text);
  } catch (const std::invalid_argument &wrong) {
    throw apps::UsageError("--regimes " + parameters.regimes + ": " + wrong.what());
  }
  view_ = regimes_->view();
}

haloscope::Overlap::Settings Policy::settings(int phases, const char *region) const {
  auto settings = haloscope::Overlap::defaults();
  settings.policy = policies().at(parameters_->policy);
  settings.alpha = parameters_->alpha;
  settings.theta = parameters_->theta;
  settings.epsilon = parameters_->epsilon;
  settings.phases = phases;
  settings.region = region;
  settings.consistent = parameters_->policy == "gather" ? 1 : 0;
  settings.partners = // they follow waits
      settings.policy == HALOSCOPE_OVERLAP_DYNAMIC || settings.policy == HALOSCOPE_OVERLAP_REGIMES ? 1 : 0;
  if (regimes_) settings.regimes = &view_;
  return settings;
}

namespace {

using haloscope::fem::Forest;
using haloscope::fem::Point;

double distance_from_middle(const Point &p) { return std::hypot(p[0] - 0.5, p[1] - 0.5, p[2] - 0.5); }

Forest::Predicate region(const std::string &where) {
  if (where == "ball") return [](const Point &p, double) { return distance_from_middle(p) < 0.25; };
  if (where == "band") return [](const Point &p, double) { return std::abs(p[2] - 0.5) < 0.1; };
  return [](const Point &p, double size) { // crossed by the surface
    return std::abs(distance_from_middle(p) - 0.3) < 0.5 * std::numbers::sqrt3 * size;
  };
}

} // namespace

Forest mesh(MPI_Comm communicator, const Parameters &parameters) {
  haloscope::fem::Domain domain;
  if (parameters.deform > 0) domain.deformation = haloscope::fem::deformation(parameters.deform);
  Forest forest(communicator, domain, parameters.level);
  if (parameters.refine != "none") forest.refine(region(parameters.refine), parameters.refinements);
  return forest;
}

haloscope::fem::Problem problem(const Parameters &parameters) {
  return parameters.pointwise ? haloscope::fem::smooth_problem()
                              : haloscope::fem::jump_problem(parameters.jump);
}

} // namespace poisson
