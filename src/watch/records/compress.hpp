// Deflate and CRC-32 of the system's zlib, which is opened when a profile is written. The recorder lives
// inside programs that are not its own, so it links only the C library. Without zlib, columns are stored
// uncompressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::watch {

// Empty if there is no zlib, or it does not make the data smaller. In `noise` nothing comes twice:
// looking for it would take twice the time, and the result would be larger.
std::vector<unsigned char> deflate(std::span<const unsigned char> data, bool noise);
std::uint32_t crc32(std::span<const unsigned char> data, std::uint32_t start = 0);

} // namespace haloscope::watch
