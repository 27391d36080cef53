// The records of this process, from their beginning to their end.
#pragma once

#include "watch/collecting/settings.hpp"
#include "watch/counting/state.hpp"

#include <cstdint>
#include <string>

namespace haloscope::watch {

// The directory of the live records, LIVE/haloscope-RUN[/SPAWNED], and the world that they belong to. Without
// a run there are none.
struct RunPlace {
  std::string run, spawned;
  std::uint64_t world;
};

// Recording begins, unless the settings name other ranks or there is no memory. Throws std::bad_alloc.
void begin_process(const Settings &settings, int rank, int size, const RunPlace &place);
// Ends the regions of the calling thread, and describes the records as whole.
void end_process(Phase phase);
void resume_process();

const std::string &live_directory() noexcept;
void remove_live_records() noexcept;

} // namespace haloscope::watch
