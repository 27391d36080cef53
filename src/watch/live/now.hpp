// The current calls of the processes of live records, as JSON: one object per line, one line per record.
// haloscope.watch.live has the same fields.
#pragma once

#include <span>

namespace haloscope::watch {

// Prints the records in the directories `words`. If the first word is `--partners`, it also prints the
// messages that each process has exchanged with other ranks. Returns the exit status. Records of a different
// build are skipped: that build reads them.
int print_now(std::span<char *const> words);

} // namespace haloscope::watch
