// The interfaces of other people's markers: which are wanted (HALOSCOPE_ANNOTATIONS), which the program uses.
#pragma once

#include <array>
#include <cstdint>

namespace haloscope::watch {

enum class Interface : std::uint8_t { caliper, adiak, kokkos, nvtx, itt, petsc, hypre, p4est, nccl };
// As the setting and `info` call them.
inline constexpr std::array interface_names{"caliper", "adiak", "kokkos", "nvtx", "itt",
                                            "petsc",   "hypre", "p4est",  "nccl"};

// From any thread, also before MPI_Init. The setting is read once.
bool is_wanted(Interface interface) noexcept;
// Says in `info`, under `annotations`, that the program uses it. Cheap after the first time.
void note_use(Interface interface) noexcept;
// The setting's words that are no interface, comma-separated, for people; nullptr if there are none.
const char *unknown_interfaces() noexcept;

} // namespace haloscope::watch
