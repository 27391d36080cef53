// One line on standard error: what, where, what to do.
#pragma once

#include <string_view>

namespace haloscope::interpose {

// Whether HALOSCOPE_ALWAYS=1 records all programs here. Then the user of this one has not asked for lines of
// the recorder.
bool is_always_on() noexcept;

// Prints the line, unless everything is watched.
void complain(std::string_view message) noexcept;

} // namespace haloscope::interpose
