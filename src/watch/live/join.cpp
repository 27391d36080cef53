// Makes a profile from the live records of processes that did not write one. Each DIR/*.live is mapped at the
// address that its process used, and read by the same code.
//
//   haloscope-join [--world ID] [--just-ended] [--ended-in TEXT] DIR... OUTPUT
//                                               joins the records of one world: the first one's, or ID
//   haloscope-join --list DIR...                lists all records, for python's recovery.py
//   haloscope-join --now [--partners] DIR...    prints their current calls, for python's live.py
//   haloscope-join --ask FILE...                asks threads for their stacks, for python's thread_stacks.py
#include "watch/collecting/collect.hpp"
#include "watch/collecting/profile.hpp"
#include "watch/collecting/summary.hpp"
#include "watch/live/ask.hpp"
#include "watch/live/live.hpp"
#include "watch/live/now.hpp"
#include "watch/records/open_call.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <system_error>
#include <unistd.h>

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

// Options that are not in the records.
struct JoinOptions {
  std::uint64_t world = 0; // 0: that of the first file
  bool just_ended = false; // the processes did, as far as they do not run
  const char *ended_in = "";
};

// The last that each thread is known to have done.
class Latest : Reading {
public:
  explicit Latest(const Arena &arena) noexcept : Reading(arena) {}
  std::uint64_t of(const ProcessRecord &process) const {
    std::uint64_t latest = process.first.tick;
    for (const ThreadRecord *thread = valid(process.threads.load()); thread != nullptr;
         thread = valid(thread->next)) {
      latest = std::max(latest, thread->newest);
      if (const Recorder *recorder = valid(thread->recorder))
        latest = std::max(latest, open_call(*recorder, *thread).since);
    }
    return latest;
  }
};

// The end time of calls that did not return. It is now for a process that runs or has just ended. The end
// time of other processes is unknown: the last event on their node is a lower bound.
class Ends {
public:
  Ends(const std::vector<std::string> &files, std::uint64_t world, bool just_ended)
      : just_ended_(just_ended) {
    for (const auto &file : files)
      with_records(file, [&](const Arena &arena, const ProcessRecord &process) {
        if (world != 0 && process.world != world) return;
        std::uint64_t &latest = latest_[process.host.data()];
        latest = std::max(latest, Latest{arena}.of(process));
      });
  }
  // A tick.
  std::uint64_t of(const ProcessRecord &process, const std::string &path) const {
    if (just_ended_ || is_running(process, path)) return ticks();
    const auto found = latest_.find(process.host.data());
    return found == latest_.end() ? 0 : found->second;
  }

private:
  bool just_ended_;
  std::map<std::string, std::uint64_t> latest_;
};

// The text and numbers of the first process represent all.
void remember(ProcessRecord &any, const ProcessRecord &process) {
  any.size = process.size;
  any.settings = process.settings;
  any.only = process.only;
  any.series = process.series;
  any.run = process.run;
  any.program = process.program;
  any.command = process.command;
  any.library = process.library;
  any.start = process.start;
  any.trace.wanted = process.trace.wanted;
  any.trace.compact = process.trace.compact;
  any.mpi_version = process.mpi_version;
  any.mpi_subversion = process.mpi_subversion;
}

// The spool of a record, in the same directory: a link to the process's file, or a collected copy.
std::string spool_of(const std::string &live) {
  const std::string spool = live.substr(0, live.size() - std::strlen(".live")) + ".spool";
  std::array<char, 4096> target{};
  const ssize_t length = readlink(spool.c_str(), target.data(), target.size() - 1);
  if (length > 0) return {target.data(), static_cast<std::size_t>(length)};
  return access(spool.c_str(), R_OK) == 0 ? spool : "";
}

void add(Joined &joined, const Arena &arena, const ProcessRecord &process, double tick, std::uint64_t end,
         const std::string &spool) {
  joined.contents.absorb(collect(arena, process, tick, end, spool));
  joined.finalized = joined.finalized && process.finalized;
  if (joined.empty) remember(joined.any, process);
  joined.empty = false;
}

// If no world is given, the first file decides. If one is given, unreadable files are ignored silently.
void join_file(Joined &joined, std::uint64_t &world, bool given, const std::string &path, double tick,
               const Ends &ends) {
  bool twice = false;
  const char *problem = with_records(path, [&](const Arena &arena, const ProcessRecord &process) {
    if (world == 0) world = process.world;
    if (process.world != world) return;
    twice = !joined.ranks.insert(process.rank).second;
    if (!twice) add(joined, arena, process, tick, ends.of(process, path), spool_of(path));
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

void write(Joined &joined, const JoinOptions &wanted, const char *output) {
  joined.contents.compact();
  Totals totals;
  totals.ended_in = wanted.ended_in;
  ProfileWriter writer{output, joined.any.settings.size_limit};
  for (unsigned i = 0; i < table_count; i++) {
    totals.add(static_cast<TableId>(i), joined.contents.tables[i]);
    writer.add(static_cast<TableId>(i), joined.contents.tables[i]);
  }
  Table pieces{TableId::trace_pieces}, words{TableId::trace_words};
  const auto flush = [&] {
    writer.add(TableId::trace_pieces, pieces);
    writer.add(TableId::trace_words, words);
    pieces.clear();
    words.clear();
  };
  for (auto &times : joined.contents.times)
    while (times.next(pieces, words))
      if (words.bytes() > (std::size_t{4} << 20U)) flush();
  flush();
  totals.left_out = writer.left_out();
  writer.finish(joined.contents.names, make_info(joined.any, totals, joined.contents.names,
                                                 missing_ranks(joined), joined.finalized, HALOSCOPE_ABI));
}

int join(const JoinOptions &wanted, std::span<char *const> directories, const char *output) {
  Joined joined;
  const double tick = measure_tick();
  std::uint64_t world = wanted.world;
  const std::vector<std::string> files = live_files(directories);
  const Ends ends{files, world, wanted.just_ended};
  for (const auto &file : files) join_file(joined, world, wanted.world != 0, file, tick, ends);
  if (joined.empty) {
    std::fprintf(stderr, "haloscope: %s holds no live records to join\n", directories.front());
    return 1;
  }
  write(joined, wanted, output);
  return 0;
}

// Each field ends with a zero byte, as names may hold any other.
void put(const std::string &field) { std::fwrite(field.c_str(), 1, field.size() + 1, stdout); }

// Records of a different build are skipped: that build reads them.
int list(std::span<char *const> directories) {
  for (const auto &file : live_files(directories))
    with_records(file, [&](const Arena & /*arena*/, const ProcessRecord &process) {
      put(file);
      put(std::to_string(process.world));
      put(std::to_string(process.rank));
      put(std::to_string(process.size) + (process.on_one_node ? "/1" : "")); // ranks, and nodes if known
      put(std::to_string(process.pid));
      put(process.program.data());
      put(process.output.data());
    });
  return 0;
}

int run(std::span<char *const> words) {
  const auto is = [&](const char *option) { return !words.empty() && std::strcmp(words[0], option) == 0; };
  const auto next = [&] {
    words = words.subspan(1);
    return words.empty() ? "" : words[0];
  };
  if (is("--list") && words.size() > 1) return list(words.subspan(1));
  if (is("--now") && words.size() > 1) return print_now(words.subspan(1));
  if (is("--ask") && words.size() > 1) return ask(words.subspan(1));
  JoinOptions wanted;
  for (; is("--world") || is("--just-ended") || is("--ended-in"); next()) {
    if (is("--world"))
      wanted.world = std::strtoull(next(), nullptr, 10);
    else if (is("--ended-in"))
      wanted.ended_in = next();
    else
      wanted.just_ended = true;
  }
  if (words.size() > 1) return join(wanted, words.first(words.size() - 1), words.back());
  std::fputs("usage: haloscope-join [--world ID] [--just-ended] [--ended-in TEXT] DIR... OUTPUT\n       "
             "haloscope-join --list DIR...\n"
             "       haloscope-join --now [--partners] DIR...\n       haloscope-join --ask FILE...\n",
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
