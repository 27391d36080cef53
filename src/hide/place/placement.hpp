// The placer in one MPI process. It replaces the program's MPI_COMM_WORLD by a communicator with the same
// processes in a different order, so that ranks with many messages share a node.
#pragma once

#include "interpose/entering.hpp"
#include "interpose/library.hpp"

namespace haloscope::place {

using interpose::ensure_resolved;
using interpose::forward;
using interpose::next;
using interpose::real;

// Handles that no program has until MPI_Init has made the placed communicator.
struct Placement {
  MPI_Comm world{};  // what the program calls MPI_COMM_WORLD
  MPI_Comm placed{}; // what MPI gets in its place
#if defined(HALOSCOPE_ABI_OPENMPI) || defined(HALOSCOPE_ABI_MPICH)
  MPI_Fint world_in_fortran = -1, placed_in_fortran = -1; // no communicator of Fortran's
#endif
};
extern Placement placement;

inline MPI_Comm actual(MPI_Comm comm) noexcept { return comm == placement.world ? placement.placed : comm; }

#if defined(HALOSCOPE_ABI_OPENMPI)
inline MPI_Fint to_fortran(MPI_Comm comm) noexcept { return real.Comm_c2f(comm); }
#elif defined(HALOSCOPE_ABI_MPICH)
inline MPI_Fint to_fortran(MPI_Comm comm) noexcept { return comm; }
#endif
#if defined(HALOSCOPE_ABI_OPENMPI) || defined(HALOSCOPE_ABI_MPICH)
inline void *actual_in_fortran(void *comm) noexcept {
  return *static_cast<MPI_Fint *>(comm) == placement.world_in_fortran ? &placement.placed_in_fortran : comm;
}
#endif

// After MPI_Init: makes the placed communicator that HALOSCOPE_PLACE asks for, if it fits this run.
void begin_world() noexcept;

} // namespace haloscope::place
