#include "hide/shm/heap/shared_arena.hpp"

#include "interpose/files.hpp"
#include "interpose/mapping.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>

namespace haloscope::heap {

namespace {

constexpr std::size_t kept_at_most = (std::size_t{64} << 20) / page;
// Programs and shells use the small numbers for purposes of their own.
constexpr int first_descriptor = 200;

// The system promises no memory that it does not have: so it is asked for before it is used.
bool is_strict() noexcept {
  const File file{open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC)};
  char mode = 0;
  return file.open() && read(file.get(), &mode, 1) == 1 && mode == '2';
}

// `eager`: of a file system that may be full before the memory is.
File arena_file(std::size_t bytes, const Mark &mark, bool &eager) noexcept {
  eager = is_strict();
  File file{memfd_create("haloscope-arena", MFD_CLOEXEC)};
  if (!prepare(file, bytes, mark)) {
    std::array<char, 80> path{};
    std::snprintf(path.data(), path.size(), "/dev/shm%s", shared_name(random_mark()).data());
    file = File{open(path.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
    if (file.open()) unlink(path.data());
    if (!prepare(file, bytes, mark)) return File{};
    eager = true;
  }
  File higher{fcntl(file.get(), F_DUPFD_CLOEXEC, first_descriptor)};
  return higher.open() ? std::move(higher) : std::move(file);
}

// The system kills a process when memory runs out, so large requests are compared with the free memory first.
bool is_available(std::size_t bytes) noexcept {
  if (bytes < std::size_t{32} << 20) return true;
  const File file{open("/proc/meminfo", O_RDONLY | O_CLOEXEC)};
  std::array<char, 512> text{};
  if (!file.open() || read(file.get(), text.data(), text.size() - 1) <= 0) return true;
  const char *line = std::strstr(text.data(), "MemAvailable:");
  return line == nullptr || bytes / 1024 < std::strtoull(line + sizeof "MemAvailable:", nullptr, 10);
}

} // namespace

Arena *Arena::make(std::size_t bytes) noexcept {
  bytes = std::min(rounded(bytes, large_page), Extents::longest / 512 * large_page);
  const auto pages = static_cast<std::uint32_t>(bytes / page);
  if (pages < 2) return nullptr;
  const Mark mark = random_mark();
  bool eager = false;
  File file = arena_file(bytes, mark, eager);
  if (!file.open()) return nullptr;
  std::byte *base = map(file, bytes);
  if (base == nullptr) return nullptr;
  // Zeros, which take no memory before they are written.
  const std::size_t own = rounded(sizeof(Arena), alignof(Extents::Entry)),
                    all = own + pages * sizeof(Extents::Entry);
  void *space = interpose::map_untouched(nullptr, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (space == MAP_FAILED) {
    munmap(base, bytes);
    return nullptr;
  }
  auto *entries = reinterpret_cast<Extents::Entry *>(static_cast<std::byte *>(space) + own);
  auto *made = new (space) Arena(std::move(file), eager, mark, base, pages, entries);
  made->register_fork();
  return made;
}

Arena::Arena(File file, bool eager, const Mark &mark, std::byte *base, std::uint32_t pages,
             Extents::Entry *entries) noexcept
    : file_(std::move(file)), mark_(mark), base_(base), bytes_(pages * page), shared_(bytes_), eager_(eager),
      extents_(entries, pages, reinterpret_cast<std::uintptr_t>(base) / page) {}

bool Arena::fill(std::uint32_t first) noexcept {
  if (!is_shared()) return true;
  const std::size_t bytes = extents_.length(first) * page;
  // A program may have closed the file, and have another of the same number.
  return has(file_, mark_) && is_available(bytes) &&
         (!eager_ || populate(file_, at(first), first * page, bytes));
}

bool Arena::empty(std::uint32_t first) noexcept {
  return madvise(at(first), extents_.length(first) * page, is_shared() ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

std::byte *Arena::take(std::size_t bytes, std::size_t alignment, bool *zeros) noexcept {
  if (bytes > bytes_ || forking()) return nullptr;
  const auto pages = static_cast<std::uint32_t>(std::max(rounded(bytes, page) / page, std::size_t{1}));
  const std::size_t least = bytes >= large_page ? large_page : page;
  const std::size_t unit = std::max(alignment, least) / page;
  std::unique_lock hold(lock_);
  std::uint32_t first = extents_.take(Extents::kept, pages, unit);
  if (zeros != nullptr) *zeros = first == 0;
  if (first != 0) {
    kept_ -= pages;
    return at(first);
  }
  first = extents_.take(Extents::clean, pages, unit);
  if (first == 0 && kept_ > 0) {
    hold.unlock();
    release(0);
    hold.lock();
    first = extents_.take(Extents::clean, pages, unit);
  }
  if (first == 0) return nullptr;
  hold.unlock(); // the others need not wait for the pages
  if (fill(first)) return at(first);
  const bool clean = empty(first);
  hold.lock();
  if (clean) extents_.give(first, Extents::clean);
  return nullptr;
}

bool Arena::resize(void *p, std::size_t bytes) noexcept {
  if (bytes > bytes_ || bytes == 0 || forking()) return false;
  const std::uint32_t first = block(p), length = extents_.length(first);
  const auto wanted = static_cast<std::uint32_t>(rounded(bytes, page) / page);
  if (wanted == length) return true;
  std::unique_lock hold(lock_);
  if (wanted < length) {
    const std::uint32_t rest = extents_.split(first, wanted);
    hold.unlock();
    keep(rest);
    return true;
  }
  std::uint32_t more = extents_.take_after(Extents::kept, first, wanted - length);
  if (more != 0) {
    kept_ -= wanted - length;
  } else {
    more = extents_.take_after(Extents::clean, first, wanted - length);
    if (more == 0) return false;
    hold.unlock();
    const bool filled = fill(more), clean = filled || empty(more);
    hold.lock();
    if (!filled) {
      if (clean) extents_.give(more, Extents::clean);
      return false;
    }
  }
  extents_.join(first);
  return true;
}

void Arena::give(void *p) noexcept {
  if (!forking()) keep(block(p));
}

void Arena::keep(std::uint32_t first) noexcept {
  {
    const std::scoped_lock hold(lock_);
    kept_ += extents_.length(first);
    extents_.give(first, Extents::kept);
    if (kept_ <= kept_at_most) return;
  }
  release(kept_at_most / 4 * 3);
}

// Frees extents down to a limit, the longest first. If the system refuses to take an extent back, it is never
// used again.
void Arena::release(std::size_t limit) noexcept {
  std::unique_lock hold(lock_);
  while (kept_ > limit) {
    const std::uint32_t first =
        extents_.take_longest(Extents::kept, static_cast<std::uint32_t>(kept_ - limit));
    if (first == 0) return;
    kept_ -= extents_.length(first);
    hold.unlock();
    const bool clean = empty(first);
    hold.lock();
    if (clean) extents_.give(first, Extents::clean);
  }
}

std::uint32_t Arena::block(const void *p) const noexcept {
  const std::uintptr_t begin = distance(p);
  const auto first = static_cast<std::uint32_t>(begin / page);
  if (begin % page == 0 && first > 0 && first < extents_.pages() && extents_.state(first) == Extents::used)
    return first;
  constexpr char text[] = "haloscope: free or realloc of memory that is not allocated\n";
  interpose::write_whole(STDERR_FILENO, text, sizeof text - 1);
  std::abort();
}

bool Arena::show(const std::byte *place, std::byte *at, std::size_t bytes) const noexcept {
  // Not by mremap: UCX takes its place, and knows of no fifth argument.
  return has(file_, mark_) && mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                                   file_.get(), static_cast<off_t>(offset(place))) != MAP_FAILED;
}

std::size_t Arena::usable(const void *p) const noexcept { return extents_.length(block(p)) * page; }

ArenaName Arena::name() const noexcept { return {getpid(), file_.get(), {mark_[0], mark_[1]}, bytes_}; }

std::optional<ForeignArena> ForeignArena::open(const ArenaName &name) noexcept {
  const File file = opened_by(name.process, name.descriptor, {name.mark[0], name.mark[1]});
  struct stat found{};
  if (!file.open() || fstat(file.get(), &found) != 0 ||
      static_cast<std::uint64_t>(found.st_size) != name.bytes)
    return {};
  std::byte *base = map(file, name.bytes);
  if (base == nullptr) return {};
  return ForeignArena{base, name.bytes};
}

ForeignArena::ForeignArena(ForeignArena &&other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}

ForeignArena &ForeignArena::operator=(ForeignArena &&other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ForeignArena::~ForeignArena() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

} // namespace haloscope::heap
