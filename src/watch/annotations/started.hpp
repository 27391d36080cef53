// Actions of annotation interfaces when recording starts, or starts again in a later session.
#pragma once

namespace haloscope::watch {

#if defined(HALOSCOPE_ABI_SIMGRID) // whose recorder is without them
inline void annotations_started() noexcept {}
inline void annotations_ending() noexcept {}
#else
// Called by the thread that initialised MPI, before anything of the program's is recorded.
void annotations_started() noexcept;
// By the thread that ends recording, before it does.
void annotations_ending() noexcept;
#endif

} // namespace haloscope::watch
