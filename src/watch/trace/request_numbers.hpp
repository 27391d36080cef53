// Which request or matched message a handle stands for: the number that a trace gives it, with the thread
// that began it.
#pragma once

#include "watch/records/requests.hpp"

namespace haloscope::watch::trace {

inline constexpr unsigned number_bits = 48; // those above are the thread

// No two live handles of a process are alike; where no trace is wanted, nothing of it is touched.
extern HandleTable<std::uint64_t> request_numbers, message_numbers;

} // namespace haloscope::watch::trace
