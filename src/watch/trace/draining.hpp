// The background thread of a process with a trace. It moves events from the rings of the other threads into
// the spool. It waits for no thread, and only MPI_Finalize waits for it.
#pragma once

#include "watch/records/trace_ring.hpp"

#include <string>

namespace haloscope::watch {
struct ProcessRecord;
}

namespace haloscope::watch::trace {

// Makes the calling thread's ring; nullptr if there is no room for it. Its blocks leave `spare` bytes.
TraceRing *make_ring(TraceRecord &record, Arena &arena, std::size_t spare) noexcept;

// Starts the background thread, with the spool at the path in the record.
void start_draining(const Arena &arena, ProcessRecord &process);
// Ends it when all is in the spool that the rings have.
void stop_draining() noexcept;

} // namespace haloscope::watch::trace
