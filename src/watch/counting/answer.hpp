// Stacks of threads that hang, without a debugger. A signal makes a thread write its stack, and the requests
// that it waits for, into its live record (haloscope hang).
//
// Without the signal, the cost is one check per slice that the signal is still the recorder's.
#pragma once

#include "watch/records/records.hpp"

namespace haloscope::watch {

// Takes a real-time signal that the program does not use. Without a free signal, no thread answers.
void start_answering(ProcessRecord &process) noexcept;
// Checks whether the program has taken the signal since. If so, no thread may be asked from then on.
void check_answering(ProcessRecord &process) noexcept;

} // namespace haloscope::watch
