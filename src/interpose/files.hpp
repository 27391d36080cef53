// File operations inside a program. What cannot be done is a result, never a signal that ends the program:
// SIGXFSZ beyond its limit of file sizes, SIGPIPE if no process reads, SIGBUS of a mapped file that has no
// space. tools/structure.py refuses write, ftruncate and others elsewhere in what a program loads.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace haloscope::interpose {

// While it lives, pthread_cancel waits: what is cancelled inside of a noexcept function ends the program.
class CancelGuard {
public:
  CancelGuard() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancelGuard() noexcept { pthread_setcancelstate(before_, nullptr); }
  CancelGuard(const CancelGuard &) = delete;
  CancelGuard &operator=(const CancelGuard &) = delete;

private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// While it lives, operations of this thread fail where they would raise such a signal. A signal that was
// pending before stays pending. Keeps errno.
class FileGuard {
public:
  FileGuard() noexcept {
    sigset_t pending;
    sigemptyset(&guarded_);
    sigpending(&pending);
    for (const int number : {SIGXFSZ, SIGPIPE})
      if (sigismember(&pending, number) == 0) sigaddset(&guarded_, number);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): on Linux it is that of this thread
    is_set_ = sigprocmask(SIG_BLOCK, &guarded_, &before_) == 0;
  }
  ~FileGuard() noexcept {
    const int error = errno;
    const timespec none{};
    while (is_set_ && (sigtimedwait(&guarded_, nullptr, &none) > 0 || errno == EINTR)) {
    }
    if (is_set_) sigprocmask(SIG_SETMASK, &before_, nullptr); // NOLINT(concurrency-mt-unsafe)
    errno = error;
  }
  FileGuard(const FileGuard &) = delete;
  FileGuard &operator=(const FileGuard &) = delete;

private:
  CancelGuard uncancelled_;
  sigset_t guarded_{}, before_{};
  bool is_set_ = false;
};

// All of it, at the file's position.
inline bool write_whole(int file, const void *data, std::size_t bytes) noexcept {
  const FileGuard guard;
  const auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

inline bool write_at(int file, const void *data, std::size_t bytes, std::uint64_t offset) noexcept {
  const FileGuard guard;
  const auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file, next, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    next += written;
    bytes -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

inline bool resize_file(int file, std::uint64_t bytes) noexcept {
  const FileGuard guard;
  return ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

// Takes space of a file, so that its mapped memory can be touched.
inline bool reserve_space(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const FileGuard guard;
  errno = ::posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  return errno == 0;
}

} // namespace haloscope::interpose
