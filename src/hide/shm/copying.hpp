// Copies from one process's memory to another's: alone, or in chunks that others of the node take part in.
#pragma once

#include "hide/shm/shm_library.hpp"

namespace haloscope::shm {

// Memory of a rank of the node: a place in its arena, or an address that only the kernel can reach.
struct Place {
  std::size_t rank;
  std::uint64_t place;
  bool mapped;
};
Place own_place(const void *address, std::size_t bytes) noexcept;
// Whether the process with this memory is no more, so that not all of it may have been copied.
bool is_gone(const Place &place) noexcept;

enum class Protocol : std::uint8_t { get, coop, steal, escape, ahead, pack };
const char *name(Protocol protocol) noexcept;

struct Copied {
  Protocol protocol = Protocol::get;
  std::uint32_t chunks = 1, helpers = 0;
};

// Copies into our own memory. `receiving`: the rank that owns the source is itself to receive something.
Copied fetch(std::byte *to, const Place &from, std::size_t bytes, bool receiving);

// Plain loads and stores, for what another core wrote.
void copy_bytes(std::byte *to, const std::byte *from, std::size_t bytes) noexcept;

// Takes part in a copy of another rank, if one asks for it: those that we send to first, then any. True if
// something was done.
bool help();
// A rank that we send to may ask us to take part.
void expect_from(std::size_t rank) noexcept;
void expect_no_more_from(std::size_t rank) noexcept;

} // namespace haloscope::shm
