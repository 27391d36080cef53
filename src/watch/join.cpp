// haloscope-join DIR OUTPUT: a profile from the live records of processes that did not come to write
// one. Each DIR/*.live is mapped where its process had it and read by the same code.
#include "collect.hpp"
#include "profile.hpp"
#include "summary.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <set>
#include <system_error>

namespace haloscope::watch {

namespace {

// The rate of this node's clock, which is the same in all its processes.
double measure_tick() {
  const ClockPair first = ClockPair::now();
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  return seconds_per_tick(first, ClockPair::now());
}

struct Joined {
  Contents contents;
  std::set<std::int64_t> ranks;
  bool finalized = true;
  ProcessRecord any{};
  bool empty = true;
};

bool is_intact(const ProcessRecord &process) {
  return process.magic == ProcessRecord::expected_magic && process.layout == record_layout &&
         process.size > 0 && process.rank >= 0 && process.rank < process.size;
}

// The text and numbers of the first process seen stand for all.
void remember(ProcessRecord &any, const ProcessRecord &process) {
  any.size = process.size;
  any.exact_times = process.exact_times;
  any.program = process.program;
  any.command = process.command;
  any.library = process.library;
  any.start = process.start;
}

void join_file(Joined &joined, const std::string &path, double tick) {
  Arena arena;
  if (!arena.open(path.c_str())) {
    std::fprintf(stderr, "haloscope: %s cannot be read; this rank is left out\n", path.c_str());
    return;
  }
  const auto &process = *reinterpret_cast<const ProcessRecord *>(arena.base());
  if (arena.capacity() < sizeof process || !is_intact(process)) {
    std::fprintf(stderr, "haloscope: %s has no records of this version; this rank is left out\n",
                 path.c_str());
  } else {
    const Contents contents = collect(arena, process, tick);
    joined.contents.absorb(contents);
    joined.ranks.insert(process.rank);
    joined.finalized = joined.finalized && process.finalized;
    if (joined.empty) remember(joined.any, process);
    joined.empty = false;
  }
  arena.close();
}

std::vector<std::int64_t> missing_ranks(const Joined &joined) {
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < joined.any.size; rank++)
    if (!joined.ranks.contains(rank)) missing.push_back(rank);
  return missing;
}

void write(Joined &joined, const char *output) {
  joined.contents.compact();
  Totals totals;
  totals.add(joined.contents[TableId::processes]);
  ProfileWriter writer{output};
  for (unsigned i = 0; i < table_count; i++) writer.add(static_cast<TableId>(i), joined.contents.tables[i]);
  writer.finish(joined.contents.names,
                make_info(joined.any, totals, missing_ranks(joined), joined.finalized, HALOSCOPE_ABI));
}

int join(const char *directory, const char *output) {
  Joined joined;
  const double tick = measure_tick();
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".live") files.push_back(entry.path().string());
  std::ranges::sort(files);
  for (const auto &file : files) join_file(joined, file, tick);
  if (joined.empty) {
    std::fprintf(stderr, "haloscope: %s holds no live records to join\n", directory);
    return 1;
  }
  write(joined, output);
  return 0;
}

} // namespace

} // namespace haloscope::watch

int main(int argc, char **argv) try {
  if (argc != 3) {
    std::fputs("usage: haloscope-join DIR OUTPUT\n", stderr);
    return 2;
  }
  return haloscope::watch::join(argv[1], argv[2]);
} catch (const std::exception &error) {
  std::fprintf(stderr, "haloscope: joining %s into %s failed: %s\n", argv[1], argv[2], error.what());
  return 1;
}
