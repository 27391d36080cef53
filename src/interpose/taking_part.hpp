// Whether all ranks have a library of ours: on a node where its file is missing, the program starts without.
#pragma once

namespace haloscope::interpose {

// To be asked inside MPI_Init, before anything else that needs all ranks of MPI_COMM_WORLD. Waits for some
// seconds at most. All ranks that ask get the same answer; if it is no, one of the first and the last prints
// that `what` is not done.
[[nodiscard]] bool do_all_ranks_take_part(const char *what) noexcept;

} // namespace haloscope::interpose
