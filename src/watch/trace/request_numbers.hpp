// Trace numbers of requests and matched messages by handle. A number contains the thread that began the
// request.
#pragma once

#include "watch/records/requests.hpp"

namespace haloscope::watch::trace {

inline constexpr unsigned number_bits = 48; // those above are the thread

// No two live handles of a process are alike; where no trace is wanted, nothing of it is touched.
extern HandleTable<std::uint64_t> request_numbers, message_numbers;

} // namespace haloscope::watch::trace
