#include "watch/collecting/world.hpp"

#include "interpose/report.hpp"
#include "watch/collecting/alignment.hpp"
#include "watch/collecting/channel.hpp"
#include "watch/collecting/collect.hpp"
#include "watch/collecting/profile.hpp"
#include "watch/collecting/program.hpp"
#include "watch/collecting/reduce.hpp"
#include "watch/collecting/summary.hpp"
#include "watch/counting/state.hpp"

#include <array>
#include <optional>
#include <unistd.h>

namespace haloscope::watch {

namespace {

MPI_Comm comm;           // ours alone, from MPI_Init to MPI_Finalize
double patience = 0;     // seconds to wait for a rank in MPI_Finalize
bool has_trace = false;  // so that clocks are to be aligned
std::uint64_t since = 0; // what is younger than this is not replaced

// The ranks of a run agree on the identity of their world, because a run may have several programs. They also
// agree on a name for the run, if the user gave none. Rank 0 decides how many collectives have a barrier
// before them, and whether there is a trace.
RunPlace agree(Settings &settings) {
  struct {
    std::array<char, 64> run{};
    std::uint64_t world = 0;
    std::uint64_t sync_collectives = 0;
    bool has_trace = false;
  } agreed;
  const std::string &run = settings.run;
  agreed.sync_collectives = settings.sync_collectives;
  agreed.has_trace = settings.trace;
  agreed.world = nanoseconds(CLOCK_REALTIME) ^ static_cast<std::uint64_t>(getpid()) << 40U;
  const std::string name = run.empty() ? std::to_string(getpid()) + "-" + std::to_string(agreed.world) : run;
  name.copy(agreed.run.data(), agreed.run.size() - 1);
  real.Bcast(&agreed, sizeof agreed, MPI_CHAR, 0, comm);
  settings.sync_collectives = agreed.sync_collectives;
  has_trace = agreed.has_trace;
  settings.trace = settings.trace && has_trace;
  return {agreed.run.data(), {}, agreed.world};
}

// Spawned processes are a world of their own, and inherit the settings of the one that spawned them.
std::string spawned_name() {
  MPI_Comm parent = MPI_COMM_NULL;
  real.Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return {};
  int first = getpid();
  real.Bcast(&first, 1, MPI_INT, 0, comm);
  return "spawned-" + std::to_string(first);
}

std::string output_of(const std::string &spawned, const std::string &output) {
  if (spawned.empty()) return output;
  const bool named = output.ends_with(".halo");
  return output.substr(0, output.size() - (named ? 5 : 0)) + "-" + spawned + (named ? ".halo" : "");
}

// What can still become a profile that could not be written.
std::string what_remains(const ProcessRecord &process) {
  if (!global().arena.recoverable())
    return "; there was no space for live records, so the recorded data are lost";
  if (process.run[0] != 0) return "; haloscope run tries again, with the records in " + live_directory();
  return "; the records are kept in " + live_directory() + ", for haloscope recover";
}

// On rank 0 the blocks go into the file; when that fails once, the rest is taken and dropped.
bool reduce_and_write(Contents &mine) {
  const ProcessRecord &process = *global().process;
  std::optional<ProfileWriter> writer;
  std::string problem;
  const auto attempt = [&](auto &&action) {
    if (!problem.empty()) return;
    try {
      action();
    } catch (const std::exception &error) {
      problem = error.what();
    }
  };
  if (process.rank == 0) attempt([&] { writer.emplace(process.output.data(), process.settings.size_limit); });
  Totals totals;
  const auto store = [&](TableId id, const Table &rows) {
    totals.add(id, rows);
    attempt([&] { writer.value().add(id, rows); });
  };
  const auto finish = [&](const Names &names) {
    if (writer) totals.left_out = writer->left_out();
    attempt([&] {
      const std::string wanted{process.output.data()};
      const Info info = make_info(process, totals, names, {}, true, interpose::interface_name);
      const std::string name = writer.value().finish(names, info, since);
      // A name is shorter than wanted only if it was cut.
      if (name != wanted)
        interpose::complain((name.size() < wanted.size()
                                 ? "the name " + wanted + " is too long"
                                 : wanted + " is kept, because it is not an older profile") +
                            ": this profile is " + name);
    });
    if (totals.lost > 0)
      interpose::complain(
          std::to_string(totals.lost) +
          " events of the trace are lost, because there was no space; set HALOSCOPE_TRACE_MEMORY, "
          "and HALOSCOPE_TRACE_SPOOL to a directory with free space");
    if (!problem.empty())
      interpose::complain("the profile " + std::string{process.output.data()} +
                          " could not be written: " + problem + what_remains(process));
    return problem.empty();
  };
  return reduce(comm, patience, mine, store, finish);
}

// Only a rank that waits for a higher rank prints the warning.
bool reduce_in_time() {
  ProcessRecord &process = *global().process;
  try {
    if (has_trace) process.trace.offset_end = clock_offset({comm, patience}, process.rank);
    Contents mine = collect(global().arena, process, seconds_per_tick(process.first, process.last));
    return reduce_and_write(mine);
  } catch (const LateRank &late) {
    if (late.rank > global().process->rank)
      interpose::complain("rank " + std::to_string(late.rank) + " did not come to MPI_Finalize within " +
                          std::to_string(static_cast<int>(patience)) +
                          " s (HALOSCOPE_FINALIZE_TIME); the records of all ranks are kept in " +
                          live_directory() + " on their nodes");
    return false;
  }
}

} // namespace

World join_world(bool begun) {
  World world{};
  real.Comm_dup(MPI_COMM_WORLD, &comm);
  real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  real.Comm_rank(comm, &world.rank);
  real.Comm_size(comm, &world.size);
  world.settings = read_settings(world.rank == 0 && !begun, world.size);
  patience = world.settings.finalize_time;
  since = world.settings.since;
  // All ranks send and receive the same here, also one that has begun before.
  const std::string spawned = spawned_name();
  world.place = agree(world.settings);
  world.place.spawned = spawned;
  world.settings.output = output_of(spawned, world.settings.output);
  return world;
}

void align_clocks() {
  if (!has_trace) return;
  find_machines(comm);
  ProcessRecord &process = *global().process;
  process.trace.machine = this_machine();
  process.trace.offset_begin = clock_offset({comm, patience}, process.rank);
}

void leave_world() {
  if (!reduce_in_time()) return;
  remove_live_records();
  real.Comm_free(&comm);
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string shown_program() { return program_name(); }

} // namespace haloscope::watch
