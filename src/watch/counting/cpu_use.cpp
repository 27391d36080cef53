#include "watch/counting/cpu_use.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace haloscope::watch {

namespace {

// The begin of a file of the system. By system calls, as other tools may watch `open` and `read`.
template <std::size_t size>
std::string_view read_begin(const char *path, std::array<char, size> &to) noexcept {
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (file < 0) return {};
  const long count = syscall(SYS_read, file, to.data(), size - 1);
  syscall(SYS_close, file);
  if (count <= 0) return {};
  to[static_cast<std::size_t>(count)] = '\0';
  return {to.data(), static_cast<std::size_t>(count)};
}

std::uint64_t number_at(std::string_view text, std::size_t place) noexcept {
  return place < text.size() ? std::strtoull(text.data() + place, nullptr, 10) : 0;
}

std::uint64_t core_wait_of_thread() noexcept {
  std::array<char, 128> text{};
  const std::string_view found = read_begin("/proc/thread-self/schedstat", text);
  const std::size_t space = found.find(' ');
  return space == std::string_view::npos ? 0 : number_at(found, space + 1);
}

// The program's own errno stays as it is.
class ErrnoKeeper {
public:
  ErrnoKeeper() = default;
  ErrnoKeeper(const ErrnoKeeper &) = delete;
  ErrnoKeeper &operator=(const ErrnoKeeper &) = delete;
  ~ErrnoKeeper() { errno = saved_; }

private:
  int saved_ = errno;
};

std::uint64_t nanoseconds_of(const timeval &time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

} // namespace

CpuUse read_cpu_use(std::uint64_t now) noexcept {
  const ErrnoKeeper keeper;
  return {now, nanoseconds(CLOCK_THREAD_CPUTIME_ID), core_wait_of_thread()};
}

void update_off_cpu(ThreadRecord &thread, std::uint64_t now, double rate) noexcept {
  const CpuUse use = read_cpu_use(now), &before = thread.cpu_before;
  const auto ticks = [rate](std::uint64_t after, std::uint64_t before) {
    return static_cast<std::uint64_t>(1e-9 * static_cast<double>(after - std::min(after, before)) / rate);
  };
  const std::uint64_t elapsed = now - std::min(now, before.tick), cpu = ticks(use.cpu, before.cpu);
  const std::uint64_t off_cpu = elapsed - std::min(elapsed, cpu);
  thread.off_cpu_ticks = thread.ended_off_cpu_ticks + off_cpu;
  thread.core_wait_ticks =
      thread.ended_core_wait_ticks + std::min(ticks(use.core_wait, before.core_wait), off_cpu);
}

ProcessUse read_process_use() noexcept {
  const ErrnoKeeper keeper;
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) != 0) return {};
  return {nanoseconds_of(use.ru_utime) + nanoseconds_of(use.ru_stime),
          static_cast<std::uint64_t>(use.ru_nivcsw)};
}

std::uint64_t read_memory_max() noexcept {
  const ErrnoKeeper keeper;
  // Not ru_maxrss: that is of what the process was before it became this program, too.
  std::array<char, 4096> text{};
  constexpr std::string_view key{"VmHWM:"};
  const std::string_view found = read_begin("/proc/self/status", text);
  const std::size_t place = found.find(key);
  return place == std::string_view::npos ? 0 : number_at(found, place + key.size()) * 1024;
}

} // namespace haloscope::watch
