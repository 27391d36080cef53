// The world of a program without MPI_COMM_WORLD.
#pragma once

#include "interpose/interface.hpp"

#include <cstdint>
#include <string>

namespace haloscope::interpose {

struct SessionWorld {
  int rank, size; // rank: -1 if there is no such world
  MPI_Group group;
};

// The world of all processes that were started together, by a session of our own: whatever the program
// does with its sessions, the group stays. Opening and closing it is no communication.
SessionWorld open_session_world() noexcept;
void close_session_world() noexcept;

// The same on all ranks of a launch, without asking them; other launches of a run have another. Across
// nodes only if the launcher speaks PMIx. Never 0.
std::uint64_t job_identity(const std::string &run);

} // namespace haloscope::interpose
