// The recorder in SMPI, SimGrid's MPI: all ranks are contexts of one thread of one process, and have one
// clock, which is simulated. They need no messages to agree or to bring their records together, so that
// messages take the same simulated time with and without them.
#include "interpose/decimal.hpp"
#include "watch/collecting/collect.hpp"
#include "watch/collecting/profile.hpp"
#include "watch/collecting/program.hpp"
#include "watch/collecting/summary.hpp"
#include "watch/collecting/trace_times.hpp"
#include "watch/collecting/world.hpp"
#include "watch/counting/state.hpp"

#include <cstdlib>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <sstream>
#include <string_view>

namespace haloscope::watch {

std::size_t simulated_process() noexcept {
  return sg_actor_self() == nullptr ? 0 : static_cast<std::size_t>(sg_actor_self_get_pid());
}

// SMPI lets the time of computing pass at the begin of the next call; let it pass before. What the recorder
// itself does before it counts is no computing. The clock begins at 0, which in records means "never".
std::uint64_t ticks() noexcept {
  if (ranks_compute) {
    if (this_thread() != nullptr) smpi_bench_end();
    smpi_bench_begin();
  }
  return static_cast<std::uint64_t>(simgrid_get_clock() / seconds_per_simulated_tick + 1.5);
}

namespace {

// The records of all ranks that have ended.
struct Ended {
  Contents contents;
  int ranks = 0;
};
Ended &ended_ranks() {
  static auto *const instance = new Ended;
  return *instance;
}

// Lines of HALOSCOPE_ABOUT: facts about the simulation that a process does not know, each as NAME=TEXT or
// NAME:=NUMBER.
std::istringstream read_about() {
  const char *about = std::getenv("HALOSCOPE_ABOUT"); // NOLINT(concurrency-mt-unsafe): one thread
  return std::istringstream{about == nullptr ? "" : about};
}

void describe_simulation(Info &info) {
  info.push_back({"simulated", Value{true}});
  std::istringstream lines = read_about();
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const bool is_number = line[equals - 1] == ':';
    const std::string name = line.substr(0, equals - (is_number ? 1 : 0)), text = line.substr(equals + 1);
    std::erase_if(info, [&](const auto &entry) { return entry.key == name; });
    double number = 0;
    info.push_back({name, is_number && interpose::read_decimal(text, number) ? Value{number} : Value{text}});
  }
}

void write(Contents &contents, const ProcessRecord &any) {
  contents.compact();
  Totals totals;
  ProfileWriter writer{any.output.data(), any.settings.size_limit};
  for (const Table &table : contents.tables) {
    const auto id = static_cast<TableId>(&table - contents.tables.data());
    totals.add(id, table);
    writer.add(id, table);
  }
  totals.left_out = writer.left_out();
  Info info = make_info(any, totals, contents.names, {}, true, interpose::interface_name);
  describe_simulation(info);
  writer.finish(contents.names, info);
}

} // namespace

// There are no live records: they would be left by a simulation that died, not by a rank.
World join_world(bool /*begun*/) {
  World world{};
  real.Comm_rank(MPI_COMM_WORLD, &world.rank);
  real.Comm_size(MPI_COMM_WORLD, &world.size);
  world.settings = read_settings(world.rank == 0, world.size);
  world.settings.exact_times = true;   // the simulated clock costs no simulated time
  world.settings.sync_collectives = 0; // a barrier would
  // While a rank is in a call others run, and may get the handle of a request that it completes.
  global().several_threads = true;
  return world;
}

void align_clocks() {}

void leave_world() {
  Ended &all = ended_ranks();
  const ProcessRecord &process = *global().process;
  Contents own = collect(global().arena, process, seconds_per_simulated_tick);
  for (TraceTimes &times : own.times)
    while (times.next(own[TableId::trace_pieces], own[TableId::trace_words])) {
    }
  all.contents.absorb(own);
  if (++all.ranks == process.size) write(all.contents, process);
  global().arena.close();
  if (ranks_compute) smpi_bench_begin(); // this was no computing
}

std::string host_name() { return sg_host_self_get_name(); }

std::string shown_program() {
  constexpr std::string_view begin = "program=";
  std::istringstream lines = read_about();
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(begin)) return line.substr(begin.size());
  return program_name();
}

} // namespace haloscope::watch
