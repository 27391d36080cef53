// From the records of one process to its share of the profile's tables.
#pragma once

#include "watch/records.hpp"
#include "watch/tables.hpp"

namespace haloscope::watch {

// The process may be this one or one that died: `arena` holds its records, nothing is taken on trust.
// `tick` is the length of a tick in seconds. Throws std::bad_alloc.
Contents collect(const Arena &arena, const ProcessRecord &process, double tick);

} // namespace haloscope::watch
