// One line on standard error: what, where, what to do.
#pragma once

#include <string_view>

namespace haloscope::interpose {

void complain(std::string_view message) noexcept;

} // namespace haloscope::interpose
