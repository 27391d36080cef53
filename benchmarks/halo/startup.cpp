// Cost for a process to find the memory of all other processes, as the shm library does in MPI_Init. Prints a
// line per process: processor microseconds to open and map the others' arenas, and to check with the kernel
// once per process whether it may read there.
//
//   startup PROCESSES
#include "hide/shm/heap/shared_arena.hpp"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <sched.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using haloscope::heap::Arena;
using haloscope::heap::ArenaName;
using haloscope::heap::ForeignArena;

struct Shared {
  std::atomic<int> here{0}, ended{0};
  struct {
    ArenaName name;
    double opening, asking;
  } of[512];
};

double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

void wait_for(const std::atomic<int> &count, int all) {
  while (count.load() < all) usleep(1000);
}

// NOLINTNEXTLINE(clang-analyzer-*): all ends with the process
void run(Shared &shared, int me, int all) {
  Arena *arena = Arena::make(std::size_t{64} << 30U);
  if (arena == nullptr) std::abort();
  shared.of[me].name = arena->name();
  shared.here++;
  wait_for(shared.here, all);
  std::vector<ForeignArena> others;
  const double begin = microseconds();
  for (int i = 0; i < all; i++) {
    if (i == me) continue;
    auto other = ForeignArena::open(shared.of[i].name);
    if (!other) std::abort();
    others.push_back(std::move(*other));
  }
  const double opened = microseconds();
  long found = 0;
  for (int i = 0; i < all; i++) {
    const iovec here{&found, sizeof found};
    const iovec there{&shared.of[i], sizeof found};
    if (process_vm_readv(static_cast<pid_t>(shared.of[i].name.process), &here, 1, &there, 1, 0) < 0)
      found = 0; // forbidden here
  }
  shared.of[me].opening = opened - begin;
  shared.of[me].asking = microseconds() - opened;
  shared.ended++;
  wait_for(shared.ended, all);
}

// Returns 0 if the text is not a number.
int number(std::string_view text) {
  int found = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  return error == std::errc{} && next == text.data() + text.size() ? found : 0;
}

} // namespace

int main(int argc, char **argv) {
  const int all = argc == 2 ? number(argv[1]) : 0;
  if (all < 2 || all > 512) return 2;
  void *space = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) return 2;
  auto *shared = new (space) Shared;
  for (int i = 0; i < all; i++)
    if (fork() == 0) {
      run(*shared, i, all);
      _exit(0);
    }
  for (int i = 0; i < all; i++) {
    int status = 0;
    wait(&status);
    if (status != 0) return 1;
  }
  for (int i = 0; i < all; i++) std::printf("%.1f %.1f\n", shared->of[i].opening, shared->of[i].asking);
  return 0;
}
