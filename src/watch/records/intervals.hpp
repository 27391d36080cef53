// Sampling: the event at the end of each interval represents all events in it.
#pragma once

#include <cstdint>

namespace haloscope::watch {

// Lengths vary from 1 to twice the mean less one, so that a loop of a regular length is not always sampled
// at the same place. They are the same wherever they are drawn as often.
struct VaryingInterval {
  unsigned length = 1, left = 1;
  std::uint64_t random = 0x9E37'79B9'7F4A'7C15U;

  void draw(unsigned mean) noexcept {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    length = left = 1 + static_cast<unsigned>(random % (2 * mean - 1));
  }
};

} // namespace haloscope::watch
