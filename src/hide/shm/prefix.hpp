// The first bytes of a type's memory, for messages that end within an element: MPI_Pack and MPI_Unpack touch
// whole elements, and the program need not have the memory of bytes that did not come.
#pragma once

#include "interpose/library.hpp"

#include <cstddef>
#include <cstdint>

namespace haloscope::shm {

class Prefix {
public:
  // Copies `bytes` from `packed` into elements, or from there into `packed`.
  enum class Direction : std::uint8_t { unpack, pack };
  Prefix(Direction direction, std::byte *packed, std::uint64_t bytes)
      : direction_(direction), packed_(packed), left_(bytes) {}

  // `count` elements, the first at `place`. Returns false if a constructor is unknown.
  bool pass(MPI_Datatype type, std::byte *place, std::int64_t count);

private:
  bool pass_parts(MPI_Datatype type, std::byte *place);
  void pass_bytes(std::byte *place, std::uint64_t bytes) noexcept;
  bool pass_grid(MPI_Datatype part, std::byte *place, const struct Grid &grid);

  Direction direction_;
  std::byte *packed_;
  std::uint64_t left_;
};

} // namespace haloscope::shm
