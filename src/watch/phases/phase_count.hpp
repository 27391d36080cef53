// What was found in the ring of calls, and the iterations that it makes.
#pragma once

#include "watch/phases/found_phase.hpp"
#include "watch/phases/phases.hpp"

namespace haloscope::watch {

// An iteration ends with the call of this number, counted from 1 on.
void tell_end(Phases &phases, std::uint64_t end) noexcept;
// An iteration may have these functions, too.
void add_form(Phases &phases, std::uint64_t functions, std::size_t length) noexcept;
// Whether it is what was found before.
bool is_same_phase(const Phases &phases, const FoundPhase &found);
// Takes up what was found; `is_over`: nothing comes after it. Returns whether there was room.
bool take(Recorder &to, Phases &phases, const FoundPhase &found, bool is_over);

} // namespace haloscope::watch
