#include "watch/records/requests.hpp"

#include <sys/mman.h>

namespace haloscope::watch {

void *reserve_space(std::size_t bytes) noexcept {
  void *memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void release_space(void *space, std::size_t bytes) noexcept { munmap(space, bytes); }

} // namespace haloscope::watch
