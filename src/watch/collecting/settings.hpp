// The recorder's environment (docs/design.md). A value that makes no sense is named once, on rank 0,
// and the default is used.
#pragma once

#include "watch/collecting/declared_settings.hpp"

#include <string>
#include <utility>
#include <vector>

namespace haloscope::watch {

// Declared in python/haloscope/watch/recorder_settings.py. `trace_compact` implies `trace`.
struct Settings : DeclaredSettings {
  std::vector<std::pair<int, int>> ranges; // first and last of each range of ranks that records; none: all

  [[nodiscard]] bool records(int rank) const;
};

// Reads the settings of a rank in a world of `size` ranks.
Settings read_settings(bool speak, int size);

// The name of a profile. Outside of batch jobs, %j is 0.
std::string expand(const std::string &pattern, int ranks, const std::string &program);
// Makes the directories of a file that are missing, each with the mode of the one that it is in.
void make_directories_of(const std::string &file) noexcept;

} // namespace haloscope::watch
