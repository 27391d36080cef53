// Memory of the program's own that the other ranks of the node can map, because it was registered: pages of
// the arena stand where its own were.
#pragma once

#include "hide/shm/shm_library.hpp"

#include <optional>

namespace haloscope::shm {

// Both return an MPI error class, and print the error.
int register_memory(void *memory, MPI_Aint bytes);
int deregister_memory(void *memory);

// Returns where it lies in this rank's arena, if others can reach all of it.
std::optional<std::uint64_t> shared_place(const void *address, std::size_t bytes) noexcept;

} // namespace haloscope::shm
