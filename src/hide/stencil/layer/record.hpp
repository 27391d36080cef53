// What the layer carried, for HALOSCOPE_STENCIL_RECORD and for the recorder.
#pragma once

#include "copying.hpp"

namespace haloscope::stencil::layer {

// A message of so many bytes to or from this world rank; the time in nanoseconds.
void note(Protocol protocol, int partner, std::uint64_t bytes, const Copied &how, Moment time);
void write_record();

} // namespace haloscope::stencil::layer
