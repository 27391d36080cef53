// Time, and waiting for it without burning the processor.
#pragma once

#include <cstdint>

namespace haloscope::inject {

// Nanoseconds of this node's monotonic clock, shifted to rank 0's.
using Moment = std::int64_t;

Moment now() noexcept;
void shift_clock(std::int64_t nanoseconds) noexcept;

// Sleeps; the MPI library goes on with other messages meanwhile.
void wait_until(Moment due) noexcept;

} // namespace haloscope::inject
