// From how many bytes on a message is carried, and a block of the shared heap lies where it can be.
#pragma once

#include <cstddef>

namespace haloscope::stencil {

inline constexpr std::size_t default_threshold = 32768;
inline constexpr const char *threshold_variable = "HALOSCOPE_STENCIL_THRESHOLD";

} // namespace haloscope::stencil
