#include "hide/halo/shared_file.hpp"

#include "interpose/files.hpp"
#include "interpose/mapping.hpp"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

namespace haloscope::halo {

Mark random_mark() noexcept {
  Mark mark{};
  if (getrandom(mark.data(), sizeof mark, 0) != sizeof mark)
    mark = {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(time(nullptr))};
  return mark;
}

bool prepare(const File &file, std::size_t bytes, const Mark &mark) noexcept {
  return file.open() && fchmod(file.get(), S_IRUSR | S_IWUSR) == 0 &&
         interpose::resize_file(file.get(), bytes) &&
         interpose::write_at(file.get(), mark.data(), sizeof mark, 0);
}

bool has(const File &file, const Mark &mark) noexcept {
  Mark found{};
  return file.open() && pread(file.get(), found.data(), sizeof found, 0) == sizeof found && found == mark;
}

File opened_by(std::int64_t process, std::int64_t descriptor, const Mark &mark) noexcept {
  if (descriptor < 0) return File{};
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/fd/%lld", static_cast<long long>(process),
                static_cast<long long>(descriptor));
  File file{open(path.data(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
  return has(file, mark) ? std::move(file) : File{};
}

std::array<char, 64> shared_name(const Mark &mark) noexcept {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/haloscope-%016llx%016llx",
                static_cast<unsigned long long>(mark[0]), static_cast<unsigned long long>(mark[1]));
  return name;
}

std::byte *map(const File &file, std::size_t bytes) noexcept {
  const std::size_t spare = bytes >= large_page ? large_page : 0;
  void *space = mmap(nullptr, bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  auto *begin = static_cast<std::byte *>(space);
  const auto address = reinterpret_cast<std::uintptr_t>(space);
  const std::size_t before = spare == 0 ? 0 : rounded(address, large_page) - address;
  const int sharing = file.open() ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS;
  void *mapped = interpose::map_untouched(begin + before, bytes, sharing | MAP_FIXED, file.get());
  if (before > 0) munmap(begin, before);
  if (spare > before) munmap(begin + before + bytes, spare - before);
  if (mapped == MAP_FAILED) return nullptr;
  if (spare > 0) madvise(mapped, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte *>(mapped);
}

bool populate(const File &file, std::byte *begin, std::size_t offset, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
#else
  (void)begin;
#endif
  return interpose::reserve_space(file.get(), offset, bytes);
}

} // namespace haloscope::halo
