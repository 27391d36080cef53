// How far the clocks of machines are apart: those of one machine are one clock.
#pragma once

#include <mpi.h>

namespace haloscope::watch {

class Channel;

// Collective: which ranks are the first ones of their machines. Has to be asked once, before the other.
void find_machines(MPI_Comm comm);
// This process's machine.
unsigned long this_machine() noexcept;
// Collective: asks the first rank of each machine for its time, where there are several machines. Returns the
// seconds to be added to this rank's clock for that of rank 0; 0 on ranks that are not the first ones. Throws
// LateRank.
double clock_offset(const Channel &channel, int rank);

} // namespace haloscope::watch
