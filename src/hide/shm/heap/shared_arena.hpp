// Memory of this process that others of its node can map: an allocator of whole pages over a file without a
// name. There is no MPI in it, and it allocates nothing elsewhere, so that malloc itself can stand on it.
#pragma once

#include "hide/halo/shared_file.hpp"
#include "hide/shm/heap/extents.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace haloscope::heap {

using namespace halo; // files that processes share

// From how many bytes on a message is carried, and a block of the shared heap lies where it can be.
inline constexpr std::size_t default_threshold = 32768;
inline constexpr const char *threshold_variable = "HALOSCOPE_SHM_THRESHOLD";

// All that another process needs to find it; may be sent as bytes.
struct ArenaName {
  std::int64_t process, descriptor;
  std::uint64_t mark[2], bytes;
};

// Not memcpy, which sanitizers replace: they believe that such pages have holes.
[[gnu::no_sanitize("address")]] void copy_pages(std::byte *to, const std::byte *from,
                                                std::size_t bytes) noexcept;

class Arena {
public:
  // Reserves addresses, no memory. Null where that is not possible. It lasts as long as the process.
  static Arena *make(std::size_t bytes) noexcept;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  // Whether others can reach what lies there. In a child of fork() they can't: it has a copy of its own.
  [[nodiscard]] bool holds(const void *p) const noexcept { return distance(p) < shared_; }
  // Whether it was taken from this arena.
  [[nodiscard]] bool owns(const void *p) const noexcept { return distance(p) < bytes_; }
  [[nodiscard]] std::byte *base() const noexcept { return base_; }
  [[nodiscard]] bool is_shared() const noexcept { return shared_ > 0; }

  // Whole pages, which take memory when they are written: null where there is none for them. `zeros` says
  // whether they are zero.
  [[nodiscard]] std::byte *take(std::size_t bytes, std::size_t alignment, bool *zeros = nullptr) noexcept;
  // Makes a block shorter or longer where it stands, if it can.
  bool resize(void *p, std::size_t bytes) noexcept;
  // Clears a block and gives its memory back. Returns false if the block is unchanged.
  bool clear(void *p) noexcept { return empty(block(p)); }
  // Keeps some of the freed pages; the system gets the others back.
  void give(void *p) noexcept;

  // Maps whole pages of a block at further addresses, and replaces any mapping there.
  bool show(const std::byte *place, std::byte *at, std::size_t bytes) const noexcept;

  [[nodiscard]] std::size_t usable(const void *p) const noexcept;
  [[nodiscard]] std::uint64_t offset(const void *p) const noexcept { return distance(p); }
  [[nodiscard]] ArenaName name() const noexcept;
  // Sets a further action of a child of fork(), before its parent continues. It returns false if it fails.
  void in_child(bool (*what)() noexcept) noexcept { in_child_ = what; }

private:
  Arena(File file, bool eager, const Mark &mark, std::byte *base, std::uint32_t pages,
        Extents::Entry *entries) noexcept;

  [[nodiscard]] std::uintptr_t distance(const void *p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base_);
  }
  [[nodiscard]] std::byte *at(std::uint32_t number) const noexcept { return base_ + number * page; }
  [[nodiscard]] std::uint32_t block(const void *p) const noexcept;
  // All of a block that is being taken, now or when it is written.
  bool fill(std::uint32_t first) noexcept;
  bool empty(std::uint32_t first) noexcept;
  void keep(std::uint32_t first) noexcept;
  void release(std::size_t limit) noexcept;

  // fork()
  void register_fork() noexcept;
  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;
  bool make_private() noexcept;
  [[nodiscard]] static bool forking() noexcept;

  File file_;
  Mark mark_;
  std::byte *base_;
  std::size_t bytes_, shared_;
  bool eager_; // a write for which there is no memory would be a signal
  std::mutex lock_;
  Extents extents_;      // under the lock
  std::size_t kept_ = 0; // pages, under the lock
  Arena *next_ = nullptr;
  bool (*in_child_)() noexcept = nullptr;
};

// Another process's arena, all of it, as far as it has memory at the time.
class ForeignArena {
public:
  static std::optional<ForeignArena> open(const ArenaName &name) noexcept;
  ForeignArena(ForeignArena &&other) noexcept;
  ForeignArena &operator=(ForeignArena &&other) noexcept;
  ForeignArena(const ForeignArena &) = delete;
  ForeignArena &operator=(const ForeignArena &) = delete;
  ~ForeignArena();

  [[nodiscard]] std::byte *at(std::uint64_t offset) const noexcept { return base_ + offset; }

private:
  ForeignArena(std::byte *base, std::size_t bytes) noexcept : base_(base), bytes_(bytes) {}

  std::byte *base_;
  std::size_t bytes_;
};

} // namespace haloscope::heap

// The arena of large malloc'ed blocks, where libhaloscope-heap.so is preloaded; null if it has none.
extern "C" haloscope::heap::Arena *haloscope_shared_arena(void);
