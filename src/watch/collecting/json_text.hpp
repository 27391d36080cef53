// JSON text of a profile's directory.
#pragma once

#include "watch/collecting/profile.hpp"

#include <string>
#include <string_view>

namespace haloscope::watch {

// A JSON string. A byte that is not part of a UTF-8 character becomes U+FFFD.
std::string quote_json(std::string_view text);
std::string json_of(const Info &info);

} // namespace haloscope::watch
