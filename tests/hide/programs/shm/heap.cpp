// The shareable heap, which is preloaded, from a program's side. The first argument names the check.
// FORBID=memfd: memfd_create fails.
#include "hide/shm/heap/shared_arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <mutex>
#include <pthread.h>
#include <random>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

using haloscope::heap::Arena;
using haloscope::heap::ArenaName;
using haloscope::heap::ForeignArena;

extern "C" int memfd_create(const char *name, unsigned flags) noexcept {
  const char *forbidden = std::getenv("FORBID"); // NOLINT(concurrency-mt-unsafe)
  if (forbidden != nullptr && std::string_view(forbidden) == "memfd") {
    errno = ENOSYS;
    return -1;
  }
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

namespace {

constexpr std::size_t large = 1'000'000, limit = haloscope::heap::default_threshold;

void require(bool condition, const char *what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

Arena *arena() {
  using Function = Arena *();
  auto *function = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, "haloscope_shared_arena"));
  return function == nullptr ? nullptr : function();
}

bool shared(const void *p) {
  const Arena *there = arena();
  return there != nullptr && there->holds(p);
}

// Without this the compiler removes malloc calls whose result is not used.
template <class T> T *seen(T *p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

char *filled(std::size_t bytes, char with) {
  auto *p = static_cast<char *>(seen(std::malloc(bytes)));
  if (p != nullptr) std::memset(p, with, bytes);
  return seen(p);
}

bool all(const char *p, std::size_t bytes, char is) {
  return std::all_of(p, p + bytes, [=](char c) { return c == is; });
}

bool all_written(char *p, std::size_t bytes, char is) {
  std::memset(p, is, bytes);
  return all(seen(p), bytes, is);
}

// Allocated before main, and before all constructors of the library.
std::vector<char> early(large, 'e'); // NOLINT(bugprone-throwing-static-initialization)

struct Block {
  unsigned char *data;
  std::size_t bytes;
  unsigned char filled;
};

// All threads use and free all blocks.
class Pool {
public:
  void put(Block block) {
    const std::scoped_lock hold(lock_);
    blocks_.push_back(block);
  }
  Block get(std::mt19937 &random) {
    const std::scoped_lock hold(lock_);
    if (blocks_.size() <= random() % 100) return {};
    std::swap(blocks_[random() % blocks_.size()], blocks_.back());
    const Block got = blocks_.back();
    blocks_.pop_back();
    return got;
  }

private:
  std::mutex lock_;
  std::vector<Block> blocks_;
};

constexpr std::size_t stride = 64;

void fill(const Block &block) {
  for (std::size_t i = 0; i < block.bytes; i += stride) block.data[i] = block.filled;
  block.data[block.bytes - 1] = block.filled;
}

void look(const Block &block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += stride)
    require(block.data[i] == block.filled, "what was written is there");
}

std::size_t some_bytes(std::mt19937 &random) {
  const unsigned kind = random() % 16;
  return 1 + random() % (kind == 0 ? 4'000'000 : kind < 6 ? 200'000 : 1'000);
}

Block allocated(std::mt19937 &random) {
  Block made{nullptr, some_bytes(random), 0};
  std::size_t alignment = std::size_t{8} << random() % 15;
  void *p = nullptr;
  switch (random() % 8) {
  case 0: {
    p = std::calloc(made.bytes, 1);
    made.data = static_cast<unsigned char *>(p);
    look(made, made.bytes);
    return made;
  }
  case 1:
    require(posix_memalign(&p, alignment, made.bytes) == 0, "posix_memalign");
    break;
  case 2:
    p = std::aligned_alloc(alignment, made.bytes);
    break;
  case 3:
    p = memalign(alignment, made.bytes);
    break;
  case 4:
    p = valloc(made.bytes); // NOLINT(concurrency-mt-unsafe)
    alignment = 4096;
    break;
  case 5:
    p = pvalloc(made.bytes);
    alignment = 4096;
    break;
  default:
    p = std::malloc(made.bytes);
    alignment = 16;
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
  require(p != nullptr && aligned && malloc_usable_size(p) >= made.bytes, "it is there");
  made.data = static_cast<unsigned char *>(p);
  return made;
}

void step(Pool &pool, std::mt19937 &random) {
  Block block = pool.get(random);
  if (block.data == nullptr) {
    block = allocated(random);
  } else {
    look(block, block.bytes);
    const unsigned what = random() % 4;
    if (what > 1) {
      std::free(block.data);
      return;
    }
    if (what == 1) {
      const std::size_t bytes = some_bytes(random), before = block.bytes;
      void *moved = random() % 2 == 0 ? std::realloc(block.data, bytes) : reallocarray(block.data, bytes, 1);
      require(moved != nullptr, "realloc");
      block.data = static_cast<unsigned char *>(moved);
      block.bytes = bytes;
      look(block, std::min(before, bytes));
    }
  }
  block.filled = static_cast<unsigned char>(random());
  fill(block);
  pool.put(block);
}

void churn(Pool &pool, unsigned seed, int steps) {
  std::mt19937 random(seed);
  for (int i = 0; i < steps; ++i) step(pool, random);
}

void random_calls() {
  require(shared(early.data()) && all(early.data(), large, 'e'), "blocks from before main are shared");
  Pool pool;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (unsigned seed = 0; seed < 3; ++seed) threads.emplace_back([&pool, seed] { churn(pool, seed, 5000); });
  for (std::thread &thread : threads) thread.join();
}

void edges() {
  char *p = filled(1000, 'a');
  require(!shared(p), "a small block is the C library's");
  for (const std::size_t bytes : {limit - 1, limit, std::size_t{5'000'000}, std::size_t{2'000'000}, limit}) {
    p = static_cast<char *>(seen(std::realloc(p, bytes)));
    require(shared(p) == (bytes >= limit) && all(p, 1000, 'a'), "realloc across the limit");
    require(malloc_usable_size(p) >= bytes && (bytes < large || all_written(p + 1000, bytes - 1000, 'b')),
            "it may be used");
  }
  const char *before = p;
  p = static_cast<char *>(seen(std::realloc(p, 70'000'000)));
  require(shared(p) && all(p, 1000, 'a') && all_written(p + 1000, 69'999'000, 'c'), "realloc of much");
  require(before == p || !shared(nullptr), "null is nobody's");
  p = static_cast<char *>(seen(std::realloc(p, 1000)));
  require(!shared(p) && all(p, 1000, 'a'), "realloc to little");
  std::free(p);

  std::size_t none = 0;
  std::free(filled(large, 'x'));
  p = static_cast<char *>(seen(std::calloc(large, 1)));
  require(shared(p) && all(p, large, 0), "calloc after use");
  require(std::realloc(p, *seen(&none)) == nullptr, "realloc to nothing");

  std::size_t huge = PTRDIFF_MAX;
  huge = *seen(&huge); // the compiler would warn
  p = filled(large, 'k');
  const auto refused = [](const void *made) { return made == nullptr && std::exchange(errno, 0) == ENOMEM; };
  errno = 0;
  require(refused(std::malloc(huge + 1)) && refused(std::malloc(huge / 4)), "too much for malloc");
  require(refused(std::calloc(huge, 3)) && refused(memalign(64, huge)), "too much for calloc, memalign");
  require(refused(std::realloc(seen(p), huge)) && refused(reallocarray(seen(p), huge, 3)),
          "too much for realloc");
  require(all(p, large, 'k'), "what could not grow is as it was");
  void *same = p;
  require(posix_memalign(&same, 64, huge) == ENOMEM && posix_memalign(&same, 24, large) == EINVAL &&
              same == p,
          "posix_memalign says why");
  std::free(p);

  void *aligned = nullptr;
  require(posix_memalign(&aligned, std::size_t{1} << 24, large) == 0 && shared(aligned) &&
              reinterpret_cast<std::uintptr_t>(aligned) % (1 << 24) == 0,
          "a large alignment");
  std::free(aligned);
  auto *numbers = seen(new std::int64_t[100'000]);
  require(shared(numbers), "new is malloc");
  delete[] numbers;
}

std::size_t file_bytes() {
  struct stat found{};
  fstat(static_cast<int>(arena()->name().descriptor), &found);
  return static_cast<std::size_t>(found.st_blocks) * 512;
}

void returned() {
  std::vector<char *> blocks;
  blocks.reserve(100);
  for (int i = 0; i < 100; ++i) blocks.push_back(filled(3'000'000, 'r'));
  require(file_bytes() >= 300'000'000, "the blocks are in the file");
  for (char *p : blocks) std::free(p);
  require(file_bytes() < 80'000'000, "memory is given back");
}

// The program may close or replace descriptors that it did not open.
void closed() {
  char *p = filled(large, 'c');
  require(shared(p), "it is shared");
  for (int i = 3; i < 1024; ++i) close(i);
  char path[] = "/tmp/haloscope-heap-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  while (dup(file) < 1000) {
  }
  require(ftruncate(file, large) == 0 && pwrite(file, "mine", 4, 0) == 4, "a file");
  std::vector<char *> blocks;
  blocks.reserve(100);
  for (int i = 0; i < 100; ++i) blocks.push_back(filled(large, 'd'));
  std::free(p);
  for (char *block : blocks) std::free(block);
  struct stat found{};
  char text[4];
  require(fstat(file, &found) == 0 && found.st_size == static_cast<off_t>(large) && found.st_blocks < 100 &&
              pread(file, text, 4, 0) == 4 && std::memcmp(text, "mine", 4) == 0,
          "a file of the same number is left alone");
}

void child_was_right(pid_t child) {
  int status = 1;
  require(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child was right");
}

// Both write to the same addresses.
void separate(int depth) {
  char *p = filled(large, 'o'), *other = filled(70'000'000, 'o');
  int turn[2];
  require(pipe(turn) == 0, "a pipe");
  const bool was_shared = shared(p);
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;
    require(read(turn[0], &go, 1) == 1, "the parent wrote");
    require(!shared(p) && all(p, large, 'o') && all(other, 70'000'000, 'o'), "the child has a copy");
    require(all_written(p, large, 'c') && all_written(other, 70'000'000, 'c'), "it may be written");
    std::free(other);
    Pool pool;
    churn(pool, 3, 1000);
    if (depth > 0) separate(depth - 1);
    std::_Exit(0);
  }
  require(shared(p) == was_shared && all_written(p, large, 'p') && all_written(other, 70'000'000, 'p'),
          "the parent may write");
  require(write(turn[1], "g", 1) == 1, "the child may go");
  child_was_right(child);
  require(all(p, large, 'p') && all(other, 70'000'000, 'p'), "the parent has what it wrote");
  std::free(p);
  std::free(other);
  close(turn[0]);
  close(turn[1]);
}

void forks() {
  separate(1);
  Pool pool;
  std::vector<std::thread> threads;
  std::atomic<bool> done{false};
  threads.reserve(2);
  for (unsigned seed = 0; seed < 2; ++seed)
    threads.emplace_back([&, seed] {
      for (unsigned i = 0; !done; ++i) churn(pool, 100 * i + seed, 100);
    });
  for (unsigned i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Pool own;
      churn(own, i, 300);
      std::_Exit(0);
    }
    child_was_right(child);
  }
  done = true;
  for (std::thread &thread : threads) thread.join();
}

// Earlier handlers of fork() run while the arena is locked, and before the child has its copy. Some library
// always allocates a large block in its constructor, so these handlers are registered before that.
char *handled = nullptr;
bool handling = false;

void allocate_before_fork() {
  if (handling) handled = filled(large, 'b');
}

void allocate_after_fork() {
  if (handling) std::free(filled(large, 'c'));
}

void die_in_child() {
  if (handling) std::_Exit(all(handled, large, 'b') ? 0 : 3);
}

void register_handlers() { pthread_atfork(allocate_before_fork, allocate_after_fork, die_in_child); }

[[gnu::used, gnu::section(".preinit_array")]] void (*before_all)() = register_handlers;

void handlers() {
  char *p = filled(large, 'a');
  require(shared(p), "it is shared");
  handling = true;
  child_was_right(fork());
  handling = false;
  require(all(handled, large, 'b'), "a handler may allocate");
  std::free(handled);
  std::free(p);
  require(shared(filled(large, 'd')), "and all is as before");
}

// A block larger than the machine's memory, which is not filled.
void lazy() {
  const std::size_t pages = sysconf(_SC_PHYS_PAGES), available = sysconf(_SC_AVPHYS_PAGES);
  char *p = static_cast<char *>(seen(std::malloc((pages / 64 * 63) * 4096)));
  require(available < pages && !shared(p), "it is not taken from the others");
  if (p != nullptr) p[available] = 'l';
}

// Memory is used only after it is touched, however often it is allocated: as with the C library's heap.
void untouched() {
  constexpr std::size_t gib = std::size_t{1} << 30, rounds = 10, most = 64;
  rusage before{}, after{};
  const std::size_t at_first = file_bytes();
  getrusage(RUSAGE_SELF, &before);
  for (std::size_t i = 0; i < rounds; ++i) {
    auto *p = static_cast<char *>(seen(i % 2 == 0 ? std::malloc(gib) : std::calloc(gib, 1)));
    require(shared(p), "a block that is hardly used is shared, too");
    p[gib / 2] = 'u';
    require(file_bytes() <= at_first + (std::size_t{4} << 20), "only what was touched is in the file");
    p = static_cast<char *>(seen(std::realloc(p, 2 * gib)));
    require(p[gib / 2] == 'u', "what was touched is kept");
    std::free(p);
  }
  getrusage(RUSAGE_SELF, &after);
  require(after.ru_minflt - before.ru_minflt < static_cast<long>(most * rounds), "few pages are asked for");
}

void no_descriptors() {
  char *p = filled(large, 'n');
  require(shared(p), "it is shared");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &limit);
  const pid_t child = fork();
  if (child == 0) std::_Exit(all(p, large, 'n') ? 0 : 1);
  std::memset(p, 'm', large);
  child_was_right(child);
}

void serve() {
  char *p = filled(large, 's');
  std::strcpy(p, "served");
  const ArenaName name = arena()->name();
  std::printf("%ld %ld %lu %lu %lu %lu\n", name.process, name.descriptor, name.mark[0], name.mark[1],
              name.bytes, arena()->offset(p));
  std::fflush(stdout);
  require(std::getchar() == '\n', "somebody has read it");
  std::puts(p);
}

void read_served(char **words) {
  const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
  const ArenaName name{static_cast<std::int64_t>(number(0)),
                       static_cast<std::int64_t>(number(1)),
                       {number(2), number(3)},
                       number(4)};
  const auto found = ForeignArena::open(name);
  require(found.has_value(), "it can be opened");
  if (!found) return;
  auto *text = reinterpret_cast<char *>(found->at(number(5)));
  std::puts(text);
  std::strcpy(text, "written");
}

// Prints how many of 100 blocks are shared.
void count() {
  int of = 0;
  for (int i = 0; i < 100; ++i) {
    char *p = filled(large, 'z');
    require(p != nullptr && all(p, large, 'z'), "there is memory");
    of += shared(p) ? 1 : 0;
  }
  std::printf("%d\n", of);
}

} // namespace

int main(int, char **arguments) {
  const std::string_view what = arguments[1];
  if (what == "random")
    random_calls();
  else if (what == "edges")
    edges();
  else if (what == "returned")
    returned();
  else if (what == "closed")
    closed();
  else if (what == "forks")
    forks();
  else if (what == "handlers")
    handlers();
  else if (what == "lazy")
    lazy();
  else if (what == "untouched")
    untouched();
  else if (what == "no descriptors")
    no_descriptors();
  else if (what == "count")
    count();
  else if (what == "serve")
    serve();
  else
    read_served(arguments + 2);
  std::puts("right");
}
