// The profile's `info`, from what the processes say of themselves.
#pragma once

#include "watch/profile.hpp"
#include "watch/records.hpp"

namespace haloscope::watch {

// What the rows of `processes` add up to.
struct Totals {
  double duration = 0; // the longest
  std::uint64_t dropped = 0, spilled = 0, left_out = 0, open_calls = 0;
  std::string ended_in; // in words, what ranks were in that did not end by themselves
  std::vector<std::int64_t> unwatched; // ranks that were told not to record, or could not

  void add(const Table &processes);
};

// `missing`: ranks without records; `finalized`: the others all came to MPI_Finalize.
Info make_info(const ProcessRecord &any, const Totals &totals, const std::vector<std::int64_t> &missing,
               bool finalized, const char *interface_name);

} // namespace haloscope::watch
