#include "records.hpp"

namespace haloscope::watch {

const std::uint64_t record_layout = [] {
  std::uint64_t hash = HALOSCOPE_SOURCES; // a hash of theirs, from the build
  for (const char *name : function_names)
    for (; *name != '\0'; name++) hash = hash * 31U + static_cast<unsigned char>(*name);
  return hash;
}();

} // namespace haloscope::watch
