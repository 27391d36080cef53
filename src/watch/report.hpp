// One line on standard error: what, where, what to do.
#pragma once

#include <string_view>

namespace haloscope::watch {

void complain(std::string_view message) noexcept;

} // namespace haloscope::watch
