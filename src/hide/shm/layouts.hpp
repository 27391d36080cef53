// The positions of a message's bytes in a type's memory, as loops. Most types with holes are such loops, so
// they can be copied from one rank's memory to another's without a buffer between.
#pragma once

#include "interpose/library.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace haloscope::shm {

// Blocks of one length, in loops, the innermost first. Layouts are in shared memory, with the message that
// they describe.
struct Layout {
  struct Loop {
    std::int64_t count = 1, stride = 0; // bytes
  };
  static constexpr std::size_t most = 3;

  std::int64_t first = 0; // of the first block, from the buffer's address on
  std::int64_t block = 0; // bytes
  Loop loops[most];

  [[nodiscard]] bool is_one_block() const noexcept {
    return loops[0].count == 1 && loops[1].count == 1 && loops[2].count == 1;
  }
  [[nodiscard]] bool has_same_counts(const Layout &other) const noexcept {
    return block == other.block && loops[0].count == other.loops[0].count &&
           loops[1].count == other.loops[1].count && loops[2].count == other.loops[2].count;
  }
  // From the lowest byte on, how many up to the highest.
  [[nodiscard]] std::int64_t low() const noexcept;
  [[nodiscard]] std::int64_t span() const noexcept;
  // Repeats the layout `count` times, one every `stride` bytes. Returns false if that needs too many loops.
  [[nodiscard]] bool repeat(std::int64_t count, std::int64_t stride) noexcept;
};
constexpr Layout one_block(std::int64_t bytes) noexcept {
  Layout layout;
  layout.block = bytes;
  return layout;
}

// The layout of one element of a type, if loops can describe it.
std::optional<Layout> flatten(MPI_Datatype type);

// Whether the shm library carries messages with holes at all.
bool packs_types();

// Copies the first `bytes` of what a layout has, or of as much room. They may lie in another rank's memory.
void gather(std::byte *to, const std::byte *from, const Layout &layout, std::uint64_t bytes) noexcept;
void scatter(std::byte *to, const Layout &layout, const std::byte *from, std::uint64_t bytes) noexcept;
// From one to the other: false if their blocks are not alike.
bool move(std::byte *to, const Layout &there, const std::byte *from, const Layout &here,
          std::uint64_t bytes) noexcept;

} // namespace haloscope::shm
