#include "watch/annotations/run_metadata.hpp"

#include "watch/counting/metadata.hpp"

namespace haloscope::watch {

void say_of_run(const char *key, const char *value) noexcept { add_metadata(key, value); }

} // namespace haloscope::watch
