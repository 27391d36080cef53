// A thread that hangs can be asked where it is, without a debugger: a signal makes it write its stack, and
// the requests that it waits for, into its live record (haloscope top --hang).
//
// A program that is not asked pays nothing but one look a slice at whether the signal is still ours.
#pragma once

#include "watch/records/records.hpp"

namespace haloscope::watch {

// Takes a real-time signal that the program leaves alone; without one, nobody answers.
void start_answering(ProcessRecord &process) noexcept;
// The program may have taken the signal for itself: nobody may be asked from then on.
void check_answering(ProcessRecord &process) noexcept;

} // namespace haloscope::watch
