// A phase that was found in the ring of calls, and the number of its iterations.
#pragma once

#include "watch/phases/found_phase.hpp"
#include "watch/phases/phases.hpp"

namespace haloscope::watch {

// An iteration ends with the call of this number, counted from 1 on.
void note_end(Phases &phases, std::uint64_t end) noexcept;
// An iteration may have these functions, too.
void add_form(Phases &phases, std::uint64_t functions, std::size_t length) noexcept;
// Whether it is the phase that was found before.
bool is_same_phase(const Phases &phases, const FoundPhase &found);
// Starts or continues the phase. `is_over`: no call comes after it. Returns whether there was memory.
bool take(Recorder &to, Phases &phases, const FoundPhase &found, bool is_over);

} // namespace haloscope::watch
