// Profiles on disk: what is written goes into a file of our own making, and takes no other's place.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace haloscope::watch {

// How a profile begins, docs/format.md.
inline constexpr std::array<unsigned char, 8> magic{0x89, 'H', 'A', 'L', 'O', '\r', '\n', 0x1A};

struct NewFile {
  int descriptor;
  std::string path;
};

// A new file beside `path`, never one that is there, nor what a link points to. Throws std::system_error.
NewFile create_beside(const std::string &path);

// Gives a whole profile its name: `path`, else the first of NAME-2.halo, NAME-3.halo … that is free. Only a
// profile that was there by `since` (nanoseconds, the file system's clock; 0: whenever) is replaced.
// Returns the name. Throws std::system_error.
std::string give_name(const std::string &file, const std::string &path, std::uint64_t since);

} // namespace haloscope::watch
