// Asks processes where their threads are: the other end of answer.hpp.
#pragma once

#include <span>

namespace haloscope::watch {

// Asks the processes of these live records, and prints what they answer as JSON, one line a thread that was
// asked: `path`, `tid`, `frames` (addresses, innermost first), `requests`, or `silent`, why it was not asked
// or gave no answer. Returns the exit status.
int ask(std::span<char *const> files);

} // namespace haloscope::watch
