#include "watch/records/requests.hpp"

#include "interpose/mapping.hpp"

namespace haloscope::watch {

void *reserve_space(std::size_t bytes) noexcept {
  void *memory = interpose::map_untouched(nullptr, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  return memory == MAP_FAILED ? nullptr : memory;
}

void release_space(void *space, std::size_t bytes) noexcept { munmap(space, bytes); }

} // namespace haloscope::watch
