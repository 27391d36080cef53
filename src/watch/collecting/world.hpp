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
  Place place;
  int rank, size;
};

// After MPI_Init; collective. `begun`: a session of this rank has begun the recording before.
World join_world(bool begun);

// After the records have begun; collective: how far apart the machines' clocks are, if a trace is wanted.
void align_clocks();

// Before MPI_Finalize, when the process has ended its records; collective. The profile is written.
void leave_world();

std::string host_name();

} // namespace haloscope::watch
