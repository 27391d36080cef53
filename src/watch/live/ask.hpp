// Asks processes where their threads are: the other end of answer.hpp.
#pragma once

#include <span>

namespace haloscope::watch {

// Asks the threads of these live records for their stacks, and prints JSON, one line per thread: `path`,
// `tid`, and `frames` (addresses, innermost first) with `requests`, or `silent`, the reason why it was not
// asked or did not answer. Returns the exit status.
int ask(std::span<char *const> files);

} // namespace haloscope::watch
