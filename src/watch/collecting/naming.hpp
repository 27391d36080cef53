// Profiles on disk. A profile is written to a new file and never overwrites a file of a different run.
#pragma once

#include <cstdint>
#include <string>

namespace haloscope::watch {

struct NewFile {
  int descriptor;
  std::string path;
};

// Creates a file in the directory of `path`. It never opens an existing file or follows a link. Throws
// std::system_error.
NewFile create_beside(const std::string &path);

// Gives a whole profile its name: `path`, else the first of NAME-2.halo, NAME-3.halo … that is free. Only a
// profile that was there by `since` (nanoseconds, the file system's clock; 0: whenever) is replaced.
// Returns the name. Throws std::system_error.
std::string give_name(const std::string &file, const std::string &path, std::uint64_t since);

} // namespace haloscope::watch
