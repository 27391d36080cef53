// The recorder's environment (docs/design.md). A value that makes no sense is named once, on rank 0,
// and the default is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace haloscope::watch {

struct Settings {
  std::string output, command, live, run, series;
  std::string only;
  bool exact_times = false;
  double slice_seconds = 1, record_from = 0, record_until = 0; // 0: no slices, at once, to the end
  unsigned sync_interval = 0;                                  // 0: collectives' skew is not measured
  std::uint64_t size_limit = 0;                                // bytes of the profile; 0: none
  std::uint64_t since = 0;                                     // nanoseconds: profiles after it stay
  double finalize_time = 120;                                  // seconds
  std::size_t memory = std::size_t{16} << 20U;
  std::vector<std::pair<int, int>> ranks; // first and last of each range that records; none: all

  [[nodiscard]] bool records(int rank) const;
};

// Of a world of `size` ranks.
Settings read_settings(bool speak, int size);

// %n: number of ranks, %p: the program's name, %d: date and time.
std::string expand(const std::string &pattern, int ranks, const std::string &program);

} // namespace haloscope::watch
