// Memory of OTF2's library while it writes an archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <otf2/otf2.h>

namespace haloscope::exporting {

// For a location or for definitions. When it is full, the library writes. Without a
// limit it keeps much of a long trace in memory.
struct Chunks {
  static constexpr size_t most = 2;
  size_t count = 0;
  void *all[most] = {};
};

inline void *allocate(void *, OTF2_FileType, OTF2_LocationRef, void **of_buffer, uint64_t size) {
  if (*of_buffer == nullptr) *of_buffer = new (std::nothrow) Chunks;
  auto *chunks = static_cast<Chunks *>(*of_buffer);
  if (chunks == nullptr || chunks->count == Chunks::most) return nullptr;
  void *made = std::malloc(size);
  if (made != nullptr) chunks->all[chunks->count++] = made;
  return made;
}

inline void release(void *, OTF2_FileType, OTF2_LocationRef, void **of_buffer, bool is_final) {
  auto *chunks = static_cast<Chunks *>(*of_buffer);
  if (chunks == nullptr) return;
  while (chunks->count > 0) std::free(chunks->all[--chunks->count]);
  if (!is_final) return;
  delete chunks;
  *of_buffer = nullptr;
}

inline OTF2_FlushType always(void *, OTF2_FileType, OTF2_LocationRef, void *, bool) { return OTF2_FLUSH; }

} // namespace haloscope::exporting
