// The shared memory of the ranks of a large node before any message, and after each has sent to its
// neighbours: room RANKS prints both in pages.
#include "hide/halo/channels.hpp"
#include "hide/shm/heap/shared_arena.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>

namespace {

using haloscope::halo::Channels;
using haloscope::halo::HelperMask;
using haloscope::halo::page;
using haloscope::heap::Arena;

[[noreturn]] void fail(const char *what) {
  std::printf("room: %s\n", what);
  std::exit(1); // NOLINT(concurrency-mt-unsafe)
}

std::size_t resident(const Arena &arena) {
  struct stat found{};
  fstat(static_cast<int>(arena.name().descriptor), &found);
  return static_cast<std::size_t>(found.st_blocks) * 512 / page;
}

// The memory may have been used by the program before.
std::byte *cleared(Arena &arena, std::size_t bytes) {
  std::byte *used = arena.take(bytes, page);
  if (used == nullptr) fail("there is no memory");
  std::memset(used, 1, bytes);
  arena.give(used);
  std::byte *region = arena.take(bytes, page);
  if (region != used || !arena.clear(region)) fail("a block that is used again is not cleared");
  return region;
}

} // namespace

int main(int, char **arguments) {
  const std::size_t ranks = std::strtoul(arguments[1], nullptr, 10), bytes = Channels::bytes(ranks, ranks);
  Arena *arena = Arena::make(std::size_t{4} << 30);
  std::vector<std::span<std::byte>> regions;
  regions.reserve(ranks);
  for (std::size_t i = 0; i < ranks; i++) regions.emplace_back(cleared(*arena, bytes), bytes);
  std::vector<Channels> all;
  all.reserve(ranks);
  for (std::size_t i = 0; i < ranks; i++) all.emplace_back(regions, i);
  const std::size_t before = resident(*arena);
  for (std::size_t i = 0; i < ranks; i++)
    if (!all[i].send(static_cast<int>((i + 1) % ranks), {1, 2, {3}})) fail("nothing can be sent");
  haloscope::halo::Control got;
  for (std::size_t i = 0; i < ranks; i++)
    if (!all[i].receive(static_cast<int>((i + ranks - 1) % ranks), got) || got.words[0] != 3)
      fail("it is lost");
  HelperMask<> &free = all.front().free();
  if (free.count(ranks) != 0) fail("somebody is free");
  const std::size_t last = HelperMask<>::ranks - 1;
  free.set(last);
  if (!free.has(last) || free.count(64) != 0 || free.count() != 1) fail("the last rank is not free");
  if (free.count(HelperMask<>::ranks, last) != 0) fail("a rank counts itself");
  free.set(0);
  if (free.count(ranks, 0) != 0 || free.count(ranks, 1) != 1 || free.count() != 2)
    fail("the first rank is not free");
  std::printf("%zu %zu\n", before, resident(*arena));
}
