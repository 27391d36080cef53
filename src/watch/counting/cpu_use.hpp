// What the system knows of how threads and the process used the processor and memory. Each is a few system
// calls: not for hot paths.
#pragma once

#include "watch/records/records.hpp"

namespace haloscope::watch {

// Of the calling thread. Where the system does not count the waiting for a core, that is 0.
CpuUse read_cpu_use(std::uint64_t now) noexcept;
// Writes the off-CPU times up to `now` to the record of the calling thread. `rate`: seconds per tick.
void update_off_cpu(ThreadRecord &thread, std::uint64_t now, double rate) noexcept;
ProcessUse read_process_use() noexcept;
// The most memory that the process had resident, in bytes; 0: unknown.
std::uint64_t read_memory_max() noexcept;

} // namespace haloscope::watch
