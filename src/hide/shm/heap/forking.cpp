// After fork(), parent and child each need private blocks: the child copies all blocks while the parent
// waits. A child made by vfork, posix_spawn or a bare clone costs nothing here.
#include "hide/shm/heap/shared_arena.hpp"

#include "interpose/files.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace haloscope::heap {

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
      interpose::write_whole(STDERR_FILENO, text, sizeof text - 1);
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
