// Operations of NCCL or RCCL in a region.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch {

// Collectives and messages that are alike. Threads of NCCL's own add to it.
struct NcclRecord {
  using Text = std::array<char, 24>; // ended by a zero
  struct Key {
    Text operation, algorithm, protocol;
    std::uint64_t channels, size, bytes; // size: of the communicator
    bool operator==(const Key &) const = default;
  };
  Key key;
  std::atomic<std::uint64_t> calls, ticks, longest;
  NcclRecord *next;
};

} // namespace haloscope::watch
