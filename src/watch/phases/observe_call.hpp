// The search for iterations in the calls of a thread: all that the rest of the recorder knows of it.
//
// Budget: searches take 1/64 of the thread's time at most.
#pragma once

#include <cstdint>

namespace haloscope::watch {

struct Recorder;

// Begins and ends the regions of a phase.
struct RegionMarkers {
  void (*begin)(Recorder &to, const char *name, bool communication) noexcept;
  void (*end)(Recorder &to, const char *name) noexcept;
};

// Starts the search in a thread that has recorded nothing yet. Without memory, nothing is searched.
void start_phases(Recorder &to, RegionMarkers markers) noexcept;
// Called at the end of a call, at the tick `now`, if the thread has `phases`.
void observe_call(Recorder &to, std::uint64_t now) noexcept;
// The program marks regions itself: those are better.
void give_up_phases(Recorder &to) noexcept;
// Called before all regions are ended.
void finish_phases(Recorder &to) noexcept;

} // namespace haloscope::watch
