#include "watch/records/arena.hpp"

#include "interpose/files.hpp"
#include "interpose/mapping.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace haloscope::watch {

namespace {

// Room in the file is taken in steps, before it is touched: a full file system would answer a touch
// with SIGBUS.
constexpr std::size_t file_step = std::size_t{256} * 1024;

std::byte *map_at_address(std::size_t bytes, int flags, int file) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is the same in every process.
  void *wanted = reinterpret_cast<void *>(arena_address);
  // A hint, which the kernel follows if the range is free.
  void *got = interpose::map_untouched(wanted, bytes, flags, file);
  if (got == MAP_FAILED) return nullptr;
  if (got != wanted) {
    munmap(got, bytes);
    return nullptr;
  }
  return static_cast<std::byte *>(got);
}

// A program that was started with its output closed must not write into our file.
int above_standard(int file) noexcept {
  if (file < 0 || file > STDERR_FILENO) return file;
  const int other = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(file);
  return other;
}

} // namespace

bool Arena::create(const char *path, std::size_t bytes) noexcept {
  capacity_ = bytes;
  if (path != nullptr && *path != '\0') {
    file_ = above_standard(::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file_ >= 0 && interpose::resize_file(file_, bytes) && reserve_file(file_step))
      base_ = map_at_address(bytes, MAP_SHARED | MAP_NORESERVE, file_);
    if (base_ == nullptr && file_ >= 0) {
      ::close(file_);
      unlink(path);
      file_ = -1;
    }
  }
  if (base_ == nullptr) {
    void *memory = interpose::map_untouched(nullptr, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    if (memory == MAP_FAILED) return false;
    base_ = static_cast<std::byte *>(memory);
  }
  return true;
}

bool Arena::open(const char *path) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  struct stat status{};
  // A file of a different user could contain anything, and it is mapped at the recorder's own address.
  if (fstat(file, &status) == 0 && status.st_size > 0 && status.st_uid == geteuid()) {
    capacity_ = static_cast<std::size_t>(status.st_size);
    base_ = map_at_address(capacity_, MAP_PRIVATE, file);
    used_ = capacity_;
  }
  ::close(file);
  return base_ != nullptr;
}

void Arena::close() noexcept {
  if (base_ != nullptr) munmap(base_, capacity_);
  if (file_ >= 0) ::close(file_);
  base_ = nullptr;
  file_ = -1;
  used_ = 0;
  reserved_ = 0;
}

bool Arena::reserve_file(std::size_t until) noexcept {
  if (file_ < 0) return true;
  std::size_t reserved = reserved_.load(std::memory_order_acquire);
  while (reserved < until) {
    const bool is_reserved = interpose::reserve_space(file_, reserved, file_step);
    if (!is_reserved && errno != EOPNOTSUPP && errno != EINVAL) return false;
    // Another thread may have taken the same step: reserving it twice does no harm.
    if (reserved_.compare_exchange_strong(reserved, reserved + file_step)) reserved += file_step;
  }
  return true;
}

bool Arena::has_room(std::size_t bytes) noexcept {
  const std::size_t until = used() + bytes + 64; // for the alignment
  return bytes <= capacity_ && until <= capacity_ && reserve_file(until);
}

void *Arena::allocate(std::size_t bytes) noexcept {
  const std::size_t alignment = bytes >= 64 ? 64 : 16;
  std::size_t start = used_.load(std::memory_order_relaxed);
  std::size_t end = 0;
  std::size_t aligned = 0;
  do {
    aligned = (start + alignment - 1) & ~(alignment - 1);
    end = aligned + bytes;
    if (end > capacity_ || bytes > capacity_) return nullptr;
  } while (!used_.compare_exchange_weak(start, end, std::memory_order_relaxed));
  if (end > reserved_.load(std::memory_order_acquire) && !reserve_file(end)) return nullptr;
  return base_ + aligned;
}

} // namespace haloscope::watch
