// The parameters from the command line.
#ifndef APPS_POISSON_PARAMETERS_HPP
#define APPS_POISSON_PARAMETERS_HPP

#include "../common/options.hpp"
#include "fem/operator/model_problem.hpp"

#include <haloscope/overlap.hpp>

#include <optional>
#include <string>

namespace poisson {

struct Parameters {
  int level = 4, degree = 1;
  double deform = 0;
  double jump = 1e6;
  bool pointwise = false;
  std::string refine = "none";
  int refinements = 2;
  std::string solver = "cg";
  int steps = 4, smoother_degree = 0;
  bool jacobi = false;
  std::string policy = "fixed";
  double alpha = 0.5, theta = 0.5, epsilon = 1e-4;
  int iterations = 8192;
  double tolerance = 1e-8;
  int runs = 1;
  std::string regimes, csv;
};

apps::Options options(Parameters &parameters);

// Throws UsageError.
void require_valid(const Parameters &parameters);

// The settings for the overlap library, which keeps no reference to this object.
class Policy {
public:
  explicit Policy(const Parameters &parameters); // reads the model; throws UsageError
  [[nodiscard]] haloscope::Overlap::Settings settings(int phases, const char *region) const;

private:
  const Parameters *parameters_;
  std::optional<haloscope::Regimes> regimes_;
  haloscope_overlap_regimes view_{};
};

// The mesh and the problem that the command line asks for.

haloscope::fem::Forest mesh(MPI_Comm communicator, const Parameters &parameters);
haloscope::fem::Problem problem(const Parameters &parameters);

} // namespace poisson

#endif
