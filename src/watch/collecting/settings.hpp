// The recorder's environment (docs/design.md). A value that makes no sense is named once, on rank 0,
// and the default is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace haloscope::watch {

// Names, defaults and limits are declared in python/haloscope/watch/recorder_settings.py.
struct Settings {
  std::string output, command, live, run, series, only;
  bool exact_times;
  double slice, after, until; // 0: no slices, at once, to the end
  unsigned sync_collectives;  // 0: collectives' skew is not measured
  bool callsites;
  unsigned depth; // frames per call site
  bool phases;
  std::uint64_t size_limit;               // bytes of the profile; 0: none
  std::uint64_t since;                    // nanoseconds: profiles after it stay
  double finalize_time;                   // seconds
  std::size_t memory;                     // bytes
  bool trace, trace_compact;              // trace_compact implies trace
  std::string trace_spool;                // directory
  std::size_t trace_memory;               // bytes of each thread
  std::vector<std::pair<int, int>> ranks; // first and last of each range that records; none: all

  [[nodiscard]] bool records(int rank) const;
};

// Reads the settings of a rank in a world of `size` ranks.
Settings read_settings(bool speak, int size);

// %n: number of ranks, %p: the program's name, %d: date and time, %D: date, %j: the batch job, 0 outside one.
std::string expand(const std::string &pattern, int ranks, const std::string &program);
// Makes the directories of a file that are missing, each with the mode of the one that it is in.
void make_directories_of(const std::string &file) noexcept;

} // namespace haloscope::watch
