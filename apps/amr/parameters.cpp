#include "parameters.hpp"

#include "../common/require.hpp"
#include "tree.hpp"

namespace amr {

using apps::require;

apps::Options options(Parameters &p) {
  apps::Options o("amr", "Averages variables on blocks of cells that are refined where objects move.");
  o.add("nx", p.nx, "N", "cells of a block in x, even");
  o.add("ny", p.ny, "N", "cells of a block in y, even");
  o.add("nz", p.nz, "N", "cells of a block in z, even");
  o.add("init_x", p.init_x, "N", "blocks of a rank in x at the start");
  o.add("init_y", p.init_y, "N", "blocks of a rank in y at the start");
  o.add("init_z", p.init_z, "N", "blocks of a rank in z at the start");
  o.add("npx", p.npx, "N", "ranks in x at the start");
  o.add("npy", p.npy, "N", "ranks in y at the start");
  o.add("npz", p.npz, "N", "ranks in z at the start");
  o.add("num_vars", p.num_vars, "N", "variables of a cell");
  o.add("comm_vars", p.comm_vars, "N", "variables that are exchanged at a time; 0: all");
  o.add("num_tsteps", p.num_tsteps, "N", "time steps");
  o.add("stages_per_ts", p.stages_per_ts, "N", "exchanges and averages in a time step");
  o.add("checksum_freq", p.checksum_freq, "N", "stages from one sum of all cells to the next; 0: none");
  o.add("num_refine", p.num_refine, "N", "levels of refinement");
  o.add("block_change", p.block_change, "N", "levels that a block may change at a time; 0: all");
  o.add("refine_freq", p.refine_freq, "N",
        "time steps from one refinement to the next; 0: at the start only");
  o.add("uniform_refine", p.uniform_refine, "0|1", "1: refine all blocks, once");
  o.add("lb_opt", p.lb_opt, "0|1|2", "balance blocks: never, after a refinement, after each of its levels");
  o.add("max_blocks", p.max_blocks, "N", "blocks of a rank at most");
  o.add("num_objects", p.num_objects, "N", "number of --object options; 0: not checked");
  o.add(
      "object", p.objects, "14 NUMBERS",
      "type (0, 1: box, 2, 3: spheroid; even: its surface), bounce (0, 1, 2), centre, movement, size, growth",
      Object::words);
  o.add("memory", p.memory, "KIND", "communication buffers are from mpi (MPI_Alloc_mem) or malloc");
  o.add("null-buffers", p.null_buffers, "", "receive into buffers of the shm library (MPIX_Get_recv_buf)");
  o.add("initial", p.initial, "FIELD", "scattered or uniform");
  o.add("verbose", p.verbose, "", "print each variable's sum, and the blocks at the end");
  return o;
}

namespace {

void require_bounds(const Parameters &p) {
  constexpr int any = 1 << 20;
  apps::require_bounds({{"--nx", p.nx, 2, any},
                        {"--ny", p.ny, 2, any},
                        {"--nz", p.nz, 2, any},
                        {"--init_x", p.init_x, 1, any},
                        {"--init_y", p.init_y, 1, any},
                        {"--init_z", p.init_z, 1, any},
                        {"--num_vars", p.num_vars, 1, any},
                        {"--comm_vars", p.comm_vars, 0, p.num_vars},
                        {"--num_tsteps", p.num_tsteps, 0, any},
                        {"--stages_per_ts", p.stages_per_ts, 0, any},
                        {"--checksum_freq", p.checksum_freq, 0, any},
                        {"--num_refine", p.num_refine, 0, Tree::bits},
                        {"--block_change", p.block_change, 0, p.num_refine},
                        {"--refine_freq", p.refine_freq, 0, any},
                        {"--uniform_refine", p.uniform_refine, 0, 1},
                        {"--lb_opt", p.lb_opt, 0, 2},
                        {"--max_blocks", p.max_blocks, 1, any},
                        {"--num_objects", p.num_objects, 0, any}});
}

void require_grid(const Parameters &p, int ranks) {
  const Int3 np = p.procs(), init{p.init_x, p.init_y, p.init_z};
  require(np[0] > 0 && np[1] > 0 && np[2] > 0 && static_cast<long>(np[0]) * np[1] * np[2] == ranks,
          "--npx, --npy and --npz make a grid of " + apps::show_value(np) + ", which are not the " +
              std::to_string(ranks) + (ranks == 1 ? " rank that was started" : " ranks that were started"));
  for (std::size_t axis = 0; axis < 3; ++axis)
    require(static_cast<long>(init[axis]) * np[axis] << p.num_refine <= 1L << Tree::bits,
            "--num_refine " + std::to_string(p.num_refine) + " would make more than " +
                std::to_string(1L << Tree::bits) + " blocks along an axis");
  require(static_cast<long>(init[0]) * init[1] * init[2] <= p.max_blocks,
          "--max_blocks " + std::to_string(p.max_blocks) + " are fewer than a rank has at the start");
}

} // namespace

void complete(Parameters &p, int ranks) {
  require_bounds(p);
  for (const int n : p.cells())
    require(n % 2 == 0,
            "--nx, --ny and --nz must be even, so that blocks can be halved; got " + std::to_string(n));
  // a block is one message when it moves
  constexpr double most = 2147483647;
  require((p.nx + 2.0) * (p.ny + 2.0) * (p.nz + 2.0) * p.num_vars <= most,
          "a block of " + apps::show_value(p.cells()) + " cells with " + std::to_string(p.num_vars) +
              " variables is too large for one message");
  require_grid(p, ranks);
  require(p.num_objects == 0 || static_cast<std::size_t>(p.num_objects) == p.objects.size(),
          "--num_objects " + std::to_string(p.num_objects) + ", but --object is given " +
              std::to_string(p.objects.size()) + " times");
  require(p.memory == "mpi" || p.memory == "malloc", "--memory is mpi or malloc, not '" + p.memory + "'");
  require(p.initial == "scattered" || p.initial == "uniform",
          "--initial is scattered or uniform, not '" + p.initial + "'");
  if (p.comm_vars == 0) p.comm_vars = p.num_vars;
  if (p.block_change == 0) p.block_change = p.num_refine;
}

} // namespace amr
