// The activity of each location (a thread of a rank), as stretches of time without gaps.
#pragma once

#include <cstdint>

namespace haloscope::explain {

using Index = std::int64_t;

enum class Kind : std::uint8_t { before, computing, in_call, waiting };

// Stretches of location l are first[l] to first[l + 1], in order of time.
struct Stretches {
  Index *first, *from, *to, *call; // call: -1 outside of calls
  std::int32_t *path;
  std::uint8_t *kind;
  Index *before_call, *after_call; // of each call: the first stretch after its begin, and after its end
};

} // namespace haloscope::explain
