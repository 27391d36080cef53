// Calls that were left without a return: by longjmp from an error handler, another callback, or a signal
// handler.
#pragma once

#include <cstdint>

namespace haloscope::interpose {

// Whether a call that returns to `to` has not been left. `own`: the return address of the call that asks.
// Walks the stack, also from a signal's stack to the one below. Returns true if the stack has no known end.
[[gnu::noinline, gnu::cold]] bool is_active_call(std::uintptr_t to, std::uintptr_t own) noexcept;

} // namespace haloscope::interpose
