// The beginning and the end of recording in a process.
#pragma once

namespace haloscope::watch {

// After MPI_Init: reads the settings, makes the arena. Never fails: at worst nothing is recorded.
void start_recording() noexcept;

// Before MPI_Finalize: reduces over the ranks, writes the profile, removes the live records.
void finish_recording() noexcept;

} // namespace haloscope::watch
