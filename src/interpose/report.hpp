// One line on standard error: what, where, what to do.
#pragma once

#include <string_view>

namespace haloscope::interpose {

// Whether everything is watched here (HALOSCOPE_ALWAYS=1), so that nobody has asked for lines of ours.
bool is_always_on() noexcept;

// Prints the line, unless everything is watched.
void complain(std::string_view message) noexcept;

} // namespace haloscope::interpose
