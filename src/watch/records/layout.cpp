#include "watch/records/records.hpp"

namespace haloscope::watch {

namespace {

consteval std::uint64_t hash_of_build() noexcept {
  std::uint64_t hash = HALOSCOPE_SOURCES; // a hash of theirs, from the build
  for (const char *name : function_names)
    for (; *name != '\0'; name++) hash = hash * 31U + static_cast<unsigned char>(*name);
  return hash;
}

} // namespace

const std::uint64_t record_layout = hash_of_build();

} // namespace haloscope::watch
