// The problem and its division, from the command line. Names and defaults are miniAMR's.
#ifndef APPS_AMR_PARAMETERS_HPP
#define APPS_AMR_PARAMETERS_HPP

#include "../common/options.hpp"
#include "objects.hpp"

namespace amr {

using apps::Int3;

struct Parameters {
  int nx = 10, ny = 10, nz = 10;
  int init_x = 1, init_y = 1, init_z = 1;
  int npx = 1, npy = 1, npz = 1;
  int num_vars = 40, comm_vars = 0;
  int num_tsteps = 20, stages_per_ts = 20, checksum_freq = 5;
  int num_refine = 5, block_change = 0, refine_freq = 5, uniform_refine = 0;
  int lb_opt = 1, max_blocks = 500;
  int num_objects = 0;
  std::vector<Object> objects;
  std::string memory = "mpi", initial = "scattered";
  bool null_buffers = false, verbose = false;

  Int3 cells() const { return {nx, ny, nz}; }
  Int3 procs() const { return {npx, npy, npz}; }
  // Blocks before any is refined.
  Int3 roots() const { return {init_x * npx, init_y * npy, init_z * npz}; }
};

apps::Options options(Parameters &p);

// Fills in what other options determine, and checks all; throws UsageError.
void complete(Parameters &p, int ranks);

} // namespace amr

#endif
