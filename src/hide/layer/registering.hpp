// Memory of the program's own that the other ranks of the node can map, because it was registered: pages of
// the arena stand where its own were.
#pragma once

#include "hide/layer/layer.hpp"

#include <optional>

namespace haloscope::layer {

// What they return is an MPI error class; they say what is wrong.
int register_memory(void *memory, MPI_Aint bytes);
int deregister_memory(void *memory);

// Where it lies in this rank's arena, if all of it is where others can reach it.
std::optional<std::uint64_t> shared_place(const void *address, std::size_t bytes) noexcept;

} // namespace haloscope::layer
