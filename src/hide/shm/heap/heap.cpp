// malloc and related functions, preloaded. Large blocks are in an arena, which other processes of the node
// can map. All other blocks are in the C library's heap. The address of a block shows where it is from.
//
// Nothing here waits for a constructor: the first calls come before there are any. Until then, and when the
// arena is full, large blocks are in the C library's heap, too.
#include "hide/shm/heap/shared_arena.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): as it calls them
void *__libc_malloc(std::size_t bytes);
void *__libc_calloc(std::size_t count, std::size_t bytes);
void *__libc_realloc(void *p, std::size_t bytes);
void *__libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void *p);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

using haloscope::halo::page;
using haloscope::heap::Arena;

constexpr std::size_t gib = std::size_t{1} << 30;

// `size` is written last and read first.
struct Range {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::size_t> size{0};
};

enum Progress : int { unmade, making, made };

constinit std::atomic<std::size_t> from{haloscope::heap::default_threshold};
constinit Range range;
constinit std::atomic<Arena *> arena{nullptr};
constinit std::atomic<int> progress{unmade};

bool ours(const void *p) noexcept {
  const std::size_t size = range.size.load(std::memory_order_acquire);
  return reinterpret_cast<std::uintptr_t>(p) - range.base.load(std::memory_order_relaxed) < size;
}

std::size_t setting(const char *name, std::size_t otherwise, std::size_t least, std::size_t most) noexcept {
  const char *text = std::getenv(name); // NOLINT(concurrency-mt-unsafe): once
  char *end = nullptr;
  const std::size_t value = text == nullptr ? 0 : std::strtoull(text, &end, 10);
  return end == nullptr || end == text || *end != '\0' ? otherwise : std::clamp(value, least, most);
}

void make() noexcept {
  std::size_t bytes = setting("HALOSCOPE_HEAP_RESERVE", 64, 1, 4096) * gib;
  // Addresses may be few: the program needs some too.
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::size_t>(bytes, limit.rlim_cur / 4);
  Arena *found = nullptr;
  for (; found == nullptr && bytes >= gib / 64; bytes /= 2) found = Arena::make(bytes);
  if (found == nullptr) {
    from = SIZE_MAX;
    return;
  }
  from = setting(haloscope::heap::threshold_variable, haloscope::heap::default_threshold, page, SIZE_MAX);
  range.base = reinterpret_cast<std::uintptr_t>(found->base());
  range.size.store(found->name().bytes, std::memory_order_release);
  arena = found;
}

// Null before the environment is there, and while another thread is making it.
Arena *get() noexcept {
  Arena *found = arena.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  int before = unmade;
  if (environ == nullptr || !progress.compare_exchange_strong(before, making)) return nullptr;
  make();
  progress = made;
  return arena;
}

void *large(std::size_t bytes, std::size_t alignment = 1, bool *zeros = nullptr) noexcept {
  Arena *there = get();
  return there == nullptr ? nullptr : there->take(bytes, alignment, zeros);
}

std::size_t usable_elsewhere(void *p) noexcept {
  using Function = std::size_t(void *);
  static std::atomic<Function *> found{nullptr};
  Function *function = found.load(std::memory_order_relaxed);
  if (function == nullptr)
    found = function = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return function(p);
}

// Not inlined: code for large blocks must not slow down small ones.
[[gnu::noinline]] void *allocate_large(std::size_t bytes) noexcept {
  void *p = large(bytes);
  return p != nullptr ? p : __libc_malloc(bytes);
}

void *allocate(std::size_t bytes) noexcept {
  if (bytes < from.load(std::memory_order_relaxed)) [[likely]]
    return __libc_malloc(bytes);
  return allocate_large(bytes);
}

void *allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  const bool possible = bytes >= from.load(std::memory_order_relaxed) && std::has_single_bit(alignment);
  void *p = possible ? large(bytes, alignment) : nullptr;
  return p != nullptr ? p : __libc_memalign(alignment, bytes);
}

[[gnu::noinline]] void give(void *p) noexcept {
  const int before = errno;
  arena.load(std::memory_order_relaxed)->give(p);
  errno = before;
}

// From the C library's heap to the arena; null if there is no room.
void *move_in(void *p, std::size_t bytes) noexcept {
  void *fresh = large(bytes);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, p, std::min(bytes, usable_elsewhere(p)));
  __libc_free(p);
  return fresh;
}

// In place if possible.
void *change(void *p, std::size_t bytes) noexcept {
  Arena *there = arena.load(std::memory_order_relaxed);
  if (bytes >= from.load(std::memory_order_relaxed) && there->resize(p, bytes)) return p;
  const std::size_t before = there->usable(p);
  void *fresh = allocate(bytes);
  if (fresh == nullptr) return bytes <= before ? p : nullptr;
  std::memcpy(fresh, p, std::min(before, bytes));
  give(p);
  return fresh;
}

void *reallocate(void *p, std::size_t bytes) noexcept {
  if (p == nullptr) return allocate(bytes);
  if (ours(p)) {
    if (bytes > 0) return change(p, bytes);
    give(p);
    return nullptr;
  }
  void *moved = bytes < from.load(std::memory_order_relaxed) ? nullptr : move_in(p, bytes);
  return moved != nullptr ? moved : __libc_realloc(p, bytes);
}

} // namespace

extern "C" {
#define EXPORTED __attribute__((visibility("default")))

EXPORTED Arena *haloscope_shared_arena() {
  get();
  while (progress == making) sched_yield();
  Arena *there = arena;
  return there != nullptr && there->is_shared() ? there : nullptr;
}

EXPORTED void *malloc(std::size_t bytes) { return allocate(bytes); }

EXPORTED void free(void *p) {
  if (ours(p))
    give(p);
  else
    __libc_free(p);
}

EXPORTED void *calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes < from.load(std::memory_order_relaxed))
    return __libc_calloc(count, size);
  bool zeros = false;
  void *p = large(bytes, 1, &zeros);
  if (p == nullptr) return __libc_calloc(count, size);
  return zeros ? p : std::memset(p, 0, bytes);
}

EXPORTED void *realloc(void *p, std::size_t bytes) { return reallocate(p, bytes); }

EXPORTED void *reallocarray(void *p, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes)) return reallocate(p, bytes);
  errno = ENOMEM;
  return nullptr;
}

EXPORTED int posix_memalign(void **made, std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void *) != 0) return EINVAL;
  const int before = errno;
  void *p = allocate_aligned(alignment, bytes);
  errno = before;
  if (p == nullptr) return ENOMEM;
  *made = p;
  return 0;
}

EXPORTED void *aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return allocate_aligned(alignment, bytes);
}

EXPORTED void *memalign(std::size_t alignment, std::size_t bytes) {
  return allocate_aligned(alignment, bytes);
}

EXPORTED void *valloc(std::size_t bytes) { return allocate_aligned(page, bytes); }

EXPORTED void *pvalloc(std::size_t bytes) {
  if (bytes <= SIZE_MAX - page) return allocate_aligned(page, haloscope::halo::rounded(bytes, page));
  errno = ENOMEM;
  return nullptr;
}

EXPORTED std::size_t malloc_usable_size(void *p) {
  if (p == nullptr) return 0;
  return ours(p) ? arena.load(std::memory_order_relaxed)->usable(p) : usable_elsewhere(p);
}
}
