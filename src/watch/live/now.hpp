// What the processes of live records are doing, as JSON: one object a line, one line a record. Its fields are
// those of haloscope.watch.live.
#pragma once

#include <span>

namespace haloscope::watch {

// Prints the records of `words`, which are directories; `--partners` first asks for the messages that each
// process has exchanged with others, too. Returns the exit status. What is no record of this build is passed
// over: another may know it.
int tell_now(std::span<char *const> words);

} // namespace haloscope::watch
