// The arena: random blocks in several threads, checked byte by byte, also from another process.
#include "hide/shm/heap/shared_arena.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unordered_map>
#include <vector>

using haloscope::heap::Arena;
using haloscope::heap::ForeignArena;

namespace {

void require(bool condition, const char *what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

struct Block {
  std::byte *data;
  std::size_t bytes;
  unsigned char filled;
};

// All bytes of a page are the same; they are checked before the block is given back.
void fill(const Block &block) {
  for (std::size_t i = 0; i < block.bytes; i += 512) block.data[i] = std::byte{block.filled};
}

void look(const Block &block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 512)
    require(block.data[i] == std::byte{block.filled}, "what was written is there");
}

std::size_t some_bytes(std::mt19937 &random) {
  const unsigned kind = random() % 8;
  return 1 + random() % (kind == 0 ? 5'000'000 : kind < 3 ? 700'000 : 40'000);
}

void churn(Arena &arena, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<Block> blocks;
  for (int step = 0; step < steps; ++step) {
    const unsigned what = random() % 16;
    if (blocks.empty() || (what < 7 && blocks.size() < 60)) {
      const std::size_t bytes = some_bytes(random), alignment = std::size_t{1} << random() % 23;
      bool zeros = false;
      std::byte *data = arena.take(bytes, alignment, &zeros);
      if (data == nullptr) continue;
      require(arena.owns(data) && arena.usable(data) >= bytes, "it is there");
      require(reinterpret_cast<std::uintptr_t>(data) % alignment == 0, "it is aligned");
      blocks.push_back({data, bytes, 0});
      if (zeros) look(blocks.back(), bytes);
    } else {
      Block &block = blocks[random() % blocks.size()];
      look(block, block.bytes);
      if (what < 13) {
        arena.give(block.data);
        block = blocks.back();
        blocks.pop_back();
        continue;
      }
      const std::size_t bytes = some_bytes(random), before = block.bytes;
      if (!arena.resize(block.data, bytes)) continue;
      block.bytes = bytes;
      look(block, std::min(before, bytes));
      std::swap(block, blocks.back());
    }
    blocks.back().filled = static_cast<unsigned char>(random());
    fill(blocks.back());
  }
  for (const Block &block : blocks) {
    look(block, block.bytes);
    arena.give(block.data);
  }
}

// The former end of a block that has grown is no block: giving it back aborts the program.
void give_what_is_within(Arena &arena) {
  constexpr std::size_t page = 4096, before = 64 * page;
  std::byte *grown = arena.take(before, page), *const first = grown;
  require(arena.resize(grown, 4 * before) && grown == first, "there is room behind it");
  const pid_t child = fork();
  if (child == 0) {
    std::fclose(stderr);
    arena.give(grown + before);
    _exit(0);
  }
  int status = 0;
  require(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
          "what is within a block is not given back");
  arena.give(grown);
}

std::size_t memory(const Arena &arena) {
  struct stat found{};
  fstat(static_cast<int>(arena.name().descriptor), &found);
  return static_cast<std::size_t>(found.st_blocks) * 512;
}

} // namespace

int main(int, char **arguments) {
  const int steps = static_cast<int>(std::strtol(arguments[1], nullptr, 10));
  // So small that it is sometimes full.
  Arena *arena = Arena::make(std::size_t{96} << 20);
  require(arena != nullptr, "there is an arena");
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back([=] { churn(*arena, i, steps); });
  for (std::thread &thread : threads) thread.join();
  require(memory(*arena) <= std::size_t{70} << 20, "memory is given back");
  std::byte *all = arena->take(std::size_t{94} << 20, 1);
  require(all != nullptr, "all is one again");
  arena->give(all);
  give_what_is_within(*arena);

  std::byte *mine = arena->take(100'000, 64);
  std::strcpy(reinterpret_cast<char *>(mine), "hello");
  const auto name = arena->name();
  if (fork() == 0) {
    require(arena->owns(mine) && !arena->holds(mine), "a child has a copy");
    const auto foreign = ForeignArena::open(name);
    require(foreign.has_value(), "another process can open it");
    if (!foreign) return 1;
    auto *there = reinterpret_cast<char *>(foreign->at(arena->offset(mine)));
    require(std::strcmp(there, "hello") == 0, "and read");
    std::strcpy(there, "there");
    require(std::strcmp(reinterpret_cast<char *>(mine), "hello") == 0, "the copy is another");
    churn(*arena, 7, steps / 4);
    auto wrong = name;
    ++wrong.mark[1];
    require(!ForeignArena::open(wrong), "of another mark is another file");
    _exit(0);
  }
  int status = 1;
  require(wait(&status) > 0 && status == 0, "the child was right");
  require(std::strcmp(reinterpret_cast<char *>(mine), "there") == 0, "it could write");
  std::puts("right");
}
