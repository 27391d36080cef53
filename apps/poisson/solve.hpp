// The use of the operator, by --solver.
#ifndef APPS_POISSON_SOLVE_HPP
#define APPS_POISSON_SOLVE_HPP

#include "parameters.hpp"
#include "record.hpp"

#include <cstdint>

namespace poisson {

struct Result {
  std::int64_t elements = 0, unknowns = 0;
  int iterations = 0;             // of the last run
  double residual = 0;            // relative to the right-hand side's
  double error = -1;              // the L2 norm of u − the known solution; < 0: nothing was solved
  double setup_seconds = 0;       // of this rank, once
  double seconds = 0;             // of this rank, of all runs
  double alpha = 0.5;             // this rank's of the finest operator, at the end
  std::vector<std::string> lines; // what else there is to say: printed by rank 0
};

// All runs of --solver but matvec. Collective.
Result solve(haloscope::fem::Forest forest, const Parameters &parameters, const Policy &policy,
             Record &record);

// --solver matvec: applies the operator as often as --iterations says.
Result apply_often(const haloscope::fem::Forest &forest, const Parameters &parameters, const Policy &policy,
                   Record &record);

} // namespace poisson

#endif
