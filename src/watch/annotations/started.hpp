// Actions of annotation interfaces when recording starts, or starts again in a later session.
#pragma once

#include "watch/counting/open_regions.hpp"

namespace haloscope::watch {

#if defined(HALOSCOPE_ABI_SIMGRID) // whose recorder is without them
inline void annotations_started() noexcept { enter_open_regions(); }
#else
// Called by the thread that initialised MPI, before anything of the program's is recorded.
void annotations_started() noexcept;
#endif

} // namespace haloscope::watch
