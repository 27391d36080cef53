// The recorder's memory: a shared mapping of a node-local file, at the same address in every process. So the
// records of a process that died can be mapped and read unchanged.
//
// Nothing is ever freed. When the arena or the file system is full, allocate() returns nullptr. The caller
// drops the record and counts it as dropped. Details are given up before that, so that new threads, calls and
// partners still have memory for their totals.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace haloscope::watch {

#if defined(__x86_64__)
// Between programs and libraries, in a range that all sanitizers leave to programs.
inline constexpr std::uintptr_t arena_address = 0x5660'0000'0000;
#else
inline constexpr std::uintptr_t arena_address = 0x2a00'0000'0000;
#endif

class Arena {
public:
  // Maps `bytes` backed by a new file at `path`; without one (empty path, or no room) the memory is
  // private and is lost with the process. Returns false if there is no memory at all.
  bool create(const char *path, std::size_t bytes) noexcept;
  // Maps an existing file, copy on write, for reading what another process left there.
  bool open(const char *path) noexcept;
  void close() noexcept;

  [[nodiscard]] bool recoverable() const noexcept { return file_ >= 0; }
  [[nodiscard]] std::byte *base() const noexcept { return base_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool contains(const void *pointer, std::size_t bytes) const noexcept {
    const auto *first = static_cast<const std::byte *>(pointer);
    return first >= base_ && bytes <= capacity_ &&
           static_cast<std::size_t>(first - base_) <= capacity_ - bytes;
  }

  // Keeps the last `bytes` for totals.
  void keep_for_totals(std::size_t bytes) noexcept { for_totals_ = bytes; }
  // Whether there is memory for further regions, sizes, instances, call sites and names.
  [[nodiscard]] bool allows_details() const noexcept { return used() + for_totals_ <= capacity_; }
  // Whether `bytes` can be allocated. With a file, the file system has reserved them then.
  [[nodiscard]] bool has_room(std::size_t bytes) noexcept;
  // Zeroed memory, aligned to a cache line for 64 bytes and more, else to 16.
  [[nodiscard]] void *allocate(std::size_t bytes) noexcept;
  template <class T> [[nodiscard]] T *make(std::size_t count = 1) noexcept {
    void *memory = allocate(sizeof(T) * count);
    return memory == nullptr ? nullptr : new (memory) T[count]{};
  }

private:
  bool reserve_file(std::size_t until) noexcept;

  std::byte *base_ = nullptr;
  std::size_t capacity_ = 0, for_totals_ = 0;
  int file_ = -1;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> reserved_{0};
};

} // namespace haloscope::watch
