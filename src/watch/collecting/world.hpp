// Cooperation of the ranks of MPI_COMM_WORLD: they agree when recording begins, and merge their records when
// it ends. world.cpp does it by messages of its own. In a simulation all ranks are in one process, so
// simulation.cpp needs no messages.
#pragma once

#include "watch/collecting/process.hpp"
#include "watch/collecting/settings.hpp"

#include <string>

namespace haloscope::watch {

struct World {
  Settings settings;
  RunPlace place;
  int rank, size;
};

// After MPI_Init; collective. `begun`: a session of this rank has begun the recording before.
World join_world(bool begun);

// Measures the distance of the machines' clocks if there is a trace. Collective, after recording has begun.
void align_clocks();

// Writes the profile. Collective, before MPI_Finalize, after the process has ended its records.
void leave_world();

std::string host_name();

// The name of the program as the user knows it: in a simulation that of the simulated program.
std::string shown_program();

} // namespace haloscope::watch
