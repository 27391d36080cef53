// The beginning and the end of recording in a process.
#pragma once

namespace haloscope::watch {

// After MPI_Init: reads the settings, makes the arena. Never fails: at worst nothing is recorded.
void start_recording() noexcept;

// Before MPI_Finalize: reduces over the ranks, writes the profile, removes the live records.
void finish_recording() noexcept;

// After MPI_Session_init. Without MPI_Init, the first one begins the recording.
void start_session() noexcept;

// After MPI_Session_finalize. Without MPI_Init, the last one leaves the live records, to be joined:
// nothing says that ranks could talk to each other now.
void finish_session() noexcept;

} // namespace haloscope::watch
