// The frame of every bundled application: MPI up and down, the command line, and errors of usage. Rank 0
// prints such an error once, with exit status 2.
#ifndef APPS_COMMON_PROGRAM_HPP
#define APPS_COMMON_PROGRAM_HPP

#include "mpi.hpp"
#include "options.hpp"

#include <cstdio>

namespace apps {

struct World {
  int rank = 0;
  int size = 1;
};

inline World world() {
  World w;
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.size);
  return w;
}

// Runs `work(world)` between MPI_Init and MPI_Finalize; returns main's exit status. A UsageError
// must come from all ranks or none, as everything that depends on the command line alone does.
template <typename Work>
int run_program(int argc, char **argv, const std::string &name, const Options &options, Work &&work) {
  MPI_Init(&argc, &argv);
  const World w = world();
  int status = 0;
  try {
    if (options.parse(argc, argv))
      work(w);
    else if (w.rank == 0)
      std::fputs(options.help().c_str(), stdout);
  } catch (const UsageError &error) {
    if (w.rank == 0) std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    status = 2;
  } catch (const std::exception &error) { // one rank's alone, such as memory: nobody may wait for it
    std::fprintf(stderr, "%s: rank %d: %s\n", name.c_str(), w.rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

} // namespace apps

#endif
