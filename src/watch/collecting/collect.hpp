// From the records of one process to its share of the profile's tables.
#pragma once

#include "watch/collecting/tables.hpp"
#include "watch/records/records.hpp"

#include <string>

namespace haloscope::watch {

// The process may be this one or one that died: `arena` holds its records, nothing is taken on trust.
// `tick` is the length of a tick in seconds. Calls that are not over are counted, and last until the tick
// `end`, if one is given. `spool`: where that of its trace is, if not where the process put it. Throws
// std::bad_alloc.
Contents collect(const Arena &arena, const ProcessRecord &process, double tick, std::uint64_t end = 0,
                 const std::string &spool = {});

} // namespace haloscope::watch
