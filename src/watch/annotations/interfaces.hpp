// The interfaces of other people's markers: which are wanted (HALOSCOPE_ANNOTATIONS), which the program uses.
#pragma once

#include "watch/records/declared.hpp"

namespace haloscope::watch {

// From any thread, also before MPI_Init. The setting is read once.
bool is_wanted(Interface interface) noexcept;
// Says in `info`, under `annotations`, that the program uses it. Cheap after the first time.
void note_use(Interface interface) noexcept;
// The setting's words that are no interface, comma-separated, for people; nullptr if there are none.
const char *unknown_interfaces() noexcept;

} // namespace haloscope::watch
