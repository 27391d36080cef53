// A profile from the live records of processes that did not come to write one. Each DIR/*.live is
// mapped where its process had it and read by the same code.
//
//   haloscope-join [--world ID] DIR... OUTPUT   joins the records of one world, the first one's or ID
//   haloscope-join --list DIR...                says whose records there are, for python's _recover.py
#include "watch/collect.hpp"
#include "watch/profile.hpp"
#include "watch/summary.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
  const auto ends = [](const auto &text) { return text.back() == '\0'; };
  return process.magic == ProcessRecord::expected_magic && process.layout == record_layout &&
         process.size > 0 && process.rank >= 0 && process.rank < process.size && ends(process.host) &&
         ends(process.program) && ends(process.library) && ends(process.command) && ends(process.output) &&
         ends(process.cpus) && ends(process.numa_nodes) && ends(process.sockets);
}

std::vector<std::string> files_in(std::span<char *const> directories) {
  std::vector<std::string> files;
  for (const char *directory : directories)
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == ".live") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

// Calls `visit` while the records of a file are mapped; returns what is wrong with them, if anything.
template <class Visit> const char *with_records(const std::string &path, Visit &&visit) {
  Arena arena;
  if (!arena.open(path.c_str())) return "cannot be read";
  const auto &process = *reinterpret_cast<const ProcessRecord *>(arena.base());
  const bool intact = arena.capacity() >= sizeof process && is_intact(process);
  if (intact) visit(arena, process);
  arena.close();
  return intact ? nullptr : "has no records of this version";
}

// The text and numbers of the first process seen stand for all.
void remember(ProcessRecord &any, const ProcessRecord &process) {
  any.size = process.size;
  any.exact_times = process.exact_times;
  any.sync_interval = process.sync_interval;
  any.size_limit = process.size_limit;
  any.record_from = process.record_from;
  any.record_until = process.record_until;
  any.only = process.only;
  any.program = process.program;
  any.command = process.command;
  any.library = process.library;
  any.start = process.start;
  any.mpi_version = process.mpi_version;
  any.mpi_subversion = process.mpi_subversion;
}

void add(Joined &joined, const Arena &arena, const ProcessRecord &process, double tick) {
  joined.contents.absorb(collect(arena, process, tick));
  joined.finalized = joined.finalized && process.finalized;
  if (joined.empty) remember(joined.any, process);
  joined.empty = false;
}

// Without a world given it is that of the first file. With one, what is unreadable is no news.
void join_file(Joined &joined, std::uint64_t &world, bool given, const std::string &path, double tick) {
  bool twice = false;
  const char *problem = with_records(path, [&](const Arena &arena, const ProcessRecord &process) {
    if (world == 0) world = process.world;
    if (process.world != world) return;
    twice = !joined.ranks.insert(process.rank).second;
    if (!twice) add(joined, arena, process, tick);
  });
  if (given) problem = nullptr;
  if (twice) problem = "has records of a rank that was met before";
  if (problem != nullptr) std::fprintf(stderr, "haloscope: %s %s; it is left out\n", path.c_str(), problem);
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
  ProfileWriter writer{output, joined.any.size_limit};
  for (unsigned i = 0; i < table_count; i++) {
    totals.add(static_cast<TableId>(i), joined.contents.tables[i]);
    writer.add(static_cast<TableId>(i), joined.contents.tables[i]);
  }
  totals.left_out = writer.left_out();
  writer.finish(joined.contents.names, make_info(joined.any, totals, joined.contents.names,
                                                 missing_ranks(joined), joined.finalized, HALOSCOPE_ABI));
}

int join(std::uint64_t world, std::span<char *const> directories, const char *output) {
  Joined joined;
  const double tick = measure_tick();
  const bool given = world != 0;
  for (const auto &file : files_in(directories)) join_file(joined, world, given, file, tick);
  if (joined.empty) {
    std::fprintf(stderr, "haloscope: %s holds no live records to join\n", directories.front());
    return 1;
  }
  write(joined, output);
  return 0;
}

// Each field ends with a zero byte, as names may hold any other.
void put(const std::string &field) { std::fwrite(field.c_str(), 1, field.size() + 1, stdout); }

// What is no record of this build is passed over: another build may know it.
int list(std::span<char *const> directories) {
  for (const auto &file : files_in(directories))
    with_records(file, [&](const Arena & /*arena*/, const ProcessRecord &process) {
      put(file);
      for (const auto number :
           {process.world, static_cast<std::uint64_t>(process.rank), static_cast<std::uint64_t>(process.size),
            static_cast<std::uint64_t>(process.pid)})
        put(std::to_string(number));
      put(process.program.data());
      put(process.output.data());
    });
  return 0;
}

int run(std::span<char *const> words) {
  const auto is = [&](const char *option) { return !words.empty() && std::strcmp(words[0], option) == 0; };
  if (is("--list") && words.size() > 1) return list(words.subspan(1));
  std::uint64_t world = 0;
  if (is("--world") && words.size() > 1) {
    world = std::strtoull(words[1], nullptr, 10);
    words = words.subspan(2);
  }
  if (words.size() > 1) return join(world, words.first(words.size() - 1), words.back());
  std::fputs("usage: haloscope-join [--world ID] DIR... OUTPUT\n       haloscope-join --list DIR...\n",
             stderr);
  return 2;
}

} // namespace

} // namespace haloscope::watch

int main(int argc, char **argv) try {
  return haloscope::watch::run({argv + 1, argv + argc});
} catch (const std::exception &error) {
  std::fprintf(stderr, "haloscope: joining into %s failed: %s\n", argv[argc - 1], error.what());
  return 1;
}
