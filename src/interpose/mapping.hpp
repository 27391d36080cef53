// Memory that is reserved, and taken as it is touched.
#pragma once

#include <cstddef>
#include <sys/mman.h>

namespace haloscope::interpose {

// Maps memory without taking any, also if the program has locked its future memory by mlockall: the kernel
// takes no pages for a mapping without access.
inline void *map_untouched(void *at, std::size_t bytes, int flags, int file = -1) noexcept {
  void *mapped = mmap(at, bytes, PROT_NONE, flags, file, 0);
  if (mapped == MAP_FAILED) return MAP_FAILED;
  munlock(mapped, bytes);
  if (mprotect(mapped, bytes, PROT_READ | PROT_WRITE) == 0) return mapped;
  munmap(mapped, bytes);
  return MAP_FAILED;
}

} // namespace haloscope::interpose
