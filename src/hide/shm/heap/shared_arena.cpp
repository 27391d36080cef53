#include "hide/shm/heap/shared_arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <pthread.h>
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
  void *space =
      mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
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

// After fork(), parent and child each need private blocks: the child copies all blocks while the parent
// waits. A child made by vfork, posix_spawn or a bare clone costs nothing here.

namespace {

// One fork at a time: the arenas' locks are held meanwhile.
struct Forks {
  std::atomic<Arena *> arenas{nullptr};
  std::atomic<pthread_t> thread{0};   // which is in fork()
  int pipe[2] = {-1, -1};             // the child's end closes when it is ready, or is no more
  std::atomic<bool> *ready = nullptr; // without descriptors for a pipe: shared
  std::atomic<bool> registered{false};
};
constinit Forks forks;

void close_end(int i) noexcept {
  if (forks.pipe[i] >= 0) close(forks.pipe[i]);
  forks.pipe[i] = -1;
}

void wait_for_child() noexcept {
  char none = 0;
  while (forks.pipe[0] >= 0 && read(forks.pipe[0], &none, 1) < 0 && errno == EINTR) {
  }
  if (forks.ready == nullptr) return;
  // The child may have died without a signal to this process, so the waiting time is limited.
  constexpr timespec moment{0, 1'000'000};
  for (int i = 0; i < 10'000 && !*forks.ready; ++i) nanosleep(&moment, nullptr);
}

void forget_ready() noexcept {
  if (forks.ready != nullptr) munmap(forks.ready, page);
  forks.ready = nullptr;
}

// Private memory, in pieces that need few addresses twice.
bool replace(std::byte *begin, std::size_t bytes, bool copied) noexcept {
  constexpr std::size_t piece = std::size_t{64} << 20;
  const std::size_t step = copied ? piece : bytes;
  for (std::size_t done = 0; done < bytes; done += step) {
    std::byte *at = begin + done;
    const std::size_t length = std::min(step, bytes - done);
    void *shared = nullptr;
    // With a length of zero, it makes a second view of the same pages.
    if (copied) shared = mremap(at, 0, length, MREMAP_MAYMOVE);
    if (shared == MAP_FAILED) return false;
    if (mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
      return false;
    if (!copied) continue;
    copy_pages(at, static_cast<const std::byte *>(shared), length);
    munmap(shared, length);
  }
  return true;
}

} // namespace

void copy_pages(std::byte *to, const std::byte *from, std::size_t bytes) noexcept {
  auto *target = reinterpret_cast<std::uint64_t *>(to);
  const auto *source = reinterpret_cast<const volatile std::uint64_t *>(from);
  for (std::size_t i = 0; i < bytes / sizeof *target; ++i) target[i] = source[i];
}

bool Arena::forking() noexcept {
  // Other handlers of fork() may allocate while this thread has the lock.
  return forks.thread.load(std::memory_order_relaxed) == pthread_self();
}

void Arena::register_fork() noexcept {
  next_ = forks.arenas.load();
  while (!forks.arenas.compare_exchange_weak(next_, this)) {
  }
  if (!forks.registered.exchange(true))
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void Arena::before_fork() noexcept {
  bool any = false;
  for (Arena *arena = forks.arenas; arena != nullptr; arena = arena->next_) {
    arena->lock_.lock();
    any = any || arena->is_shared();
  }
  forks.thread = pthread_self();
  if (!any || pipe2(forks.pipe, O_CLOEXEC) == 0) return;
  void *shared = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) forks.ready = new (shared) std::atomic<bool>{false};
}

void Arena::after_fork_in_parent() noexcept {
  close_end(1);
  wait_for_child();
  close_end(0);
  forget_ready();
  forks.thread = 0;
  for (Arena *arena = forks.arenas; arena != nullptr; arena = arena->next_) arena->lock_.unlock();
}

void Arena::after_fork_in_child() noexcept {
  close_end(0);
  for (Arena *arena = forks.arenas; arena != nullptr; arena = arena->next_)
    if (arena->is_shared() && !arena->make_private()) {
      constexpr char text[] = "haloscope: fork: no memory for a copy of the shared heap\n";
      (void)!write(STDERR_FILENO, text, sizeof text - 1);
      _exit(127);
    }
  close_end(1);
  if (forks.ready != nullptr) *forks.ready = true;
  forget_ready();
  forks.thread = 0;
  for (Arena *arena = forks.arenas; arena != nullptr; arena = arena->next_) arena->lock_.unlock();
}

bool Arena::make_private() noexcept {
  // In the order of addresses, so that the private part is one mapping and the shared part another.
  for (std::uint32_t first = 0; first < extents_.pages(); first += extents_.length(first)) {
    const bool copied = extents_.state(first) == Extents::used;
    if (!replace(at(first), extents_.length(first) * page, copied)) return false;
  }
  if (in_child_ != nullptr && !in_child_()) return false;
  shared_ = 0;
  // The parent's memory would outlive it here.
  if (has(file_, mark_)) file_ = File{};
  return true;
}

} // namespace haloscope::heap
