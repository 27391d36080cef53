// The profile's `info`, from what the processes say of themselves.
#pragma once

#include "profile.hpp"
#include "records.hpp"

namespace haloscope::watch {

// `missing`: ranks without records; `finalized`: the others all came to MPI_Finalize.
Info make_info(const ProcessRecord &any, double duration, std::uint64_t dropped, std::uint64_t spilled,
               const std::vector<std::int64_t> &missing, bool finalized, const char *interface_name);

} // namespace haloscope::watch
