// The problem and its division, from the command line. Names and defaults are AMG2023's.
#ifndef APPS_AMG_PARAMETERS_HPP
#define APPS_AMG_PARAMETERS_HPP

#include "../common/options.hpp"

namespace amg {

using apps::Int3;

struct Parameters {
  int problem = 1;
  Int3 points{10, 10, 10}; // of a rank
  Int3 procs{0, 0, 0};     // 0: all along x
  int restart = 100;       // of GMRES
  double most_row_sum = 1; // of problem 1
  int most_elements = 4;   // of a row of interpolation
  int interpolation = 17;
  int relaxation = -1;    // -1: what hypre takes by itself
  int aggressive = 1;     // levels; of problem 2
  bool stats = false;     // what hypre says of its levels and at the end
  bool all_stats = false; // and of each iteration
  bool print = false;
  int products = 0;      // in place of setup and solve
  bool accepted = false; // options that say what is so here anyway

  bool is_27_point() const { return problem == 1; }
};

apps::Options options(Parameters &p);

// Fills in missing parameters and checks the others. Throws UsageError.
void complete(Parameters &p, int ranks);

} // namespace amg

#endif
