// Whether all ranks have a library of ours: on a node where its file is missing, the program starts without.
#pragma once

#include <cstdint>

namespace haloscope::interpose {

// The library that asks.
enum class Part : std::uint8_t { recorder, inject, shm, place };

// To be asked inside MPI_Init, before anything else that needs all ranks of MPI_COMM_WORLD. Waits for some
// seconds for those that are missing. All ranks that ask get the same answer; if it is no, one of the first
// and the last prints that `what` is not done.
[[nodiscard]] bool do_all_ranks_take_part(Part part, const char *what) noexcept;

} // namespace haloscope::interpose
