#include "watch/lifecycle.hpp"

#include "interpose/report.hpp"
#include "interpose/sessions.hpp"
#include "watch/collect.hpp"
#include "watch/process.hpp"
#include "watch/profile.hpp"
#include "watch/reduce.hpp"
#include "watch/settings.hpp"
#include "watch/state.hpp"
#include "watch/summary.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <unistd.h>

namespace haloscope::watch {

namespace {

MPI_Comm comm;           // ours alone, from MPI_Init to MPI_Finalize
double patience = 0;     // seconds to wait for a rank in MPI_Finalize
std::uint64_t since = 0; // what is younger than this is not replaced

// Of the four functions here, which only programs with sessions call at the same time.
std::mutex &lifecycle() {
  static auto *instance = new std::mutex;
  return *instance;
}

// Ranks of one run agree on a name for it, when nobody gave one, and on the identity of their world: a
// run may have several programs. Rank 0 also says how many collectives have a barrier before them.
Place agree(Settings &settings) {
  struct {
    std::array<char, 64> run{};
    std::uint64_t world = 0;
    unsigned sync_interval = 0;
  } agreed;
  const std::string &run = settings.run;
  agreed.sync_interval = settings.sync_interval;
  agreed.world = nanoseconds(CLOCK_REALTIME) ^ static_cast<std::uint64_t>(getpid()) << 40U;
  const std::string name = run.empty() ? std::to_string(getpid()) + "-" + std::to_string(agreed.world) : run;
  name.copy(agreed.run.data(), agreed.run.size() - 1);
  real.Bcast(&agreed, sizeof agreed, MPI_CHAR, 0, comm);
  settings.sync_interval = agreed.sync_interval;
  return {agreed.run.data(), {}, agreed.world};
}

// Spawned processes are a world of their own, and inherit the settings of the one that spawned them.
std::string world_name() {
  MPI_Comm parent = MPI_COMM_NULL;
  real.Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return {};
  int first = getpid();
  real.Bcast(&first, 1, MPI_INT, 0, comm);
  return "spawned-" + std::to_string(first);
}

std::string output_of(const std::string &world, const std::string &output) {
  if (world.empty()) return output;
  const bool named = output.ends_with(".halo");
  return output.substr(0, output.size() - (named ? 5 : 0)) + "-" + world + (named ? ".halo" : "");
}

void start() {
  int rank = 0;
  int size = 0;
  int level = 0;
  real.Comm_dup(MPI_COMM_WORLD, &comm);
  real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  real.Comm_rank(comm, &rank);
  real.Comm_size(comm, &size);
  real.Query_thread(&level);
  const bool begun = global.process != nullptr; // by a session
  Settings settings = read_settings(rank == 0 && !begun, size);
  patience = settings.finalize_time;
  since = settings.since;
  // All ranks send and receive the same here, also one that has begun before.
  const std::string world = world_name();
  Place place = agree(settings);
  place.spawned = world;
  MPI_Group group = MPI_GROUP_NULL;
  real.Comm_group(MPI_COMM_WORLD, &group);
  start_communicators(group);
  global.several_threads = global.several_threads || level == MPI_THREAD_MULTIPLE;
  settings.output = output_of(world, settings.output);
  if (!begun)
    begin_process(settings, rank, size, place);
  else if (global.phase == Phase::between)
    resume_process();
}

// On rank 0 the blocks go into the file; when that fails once, the rest is taken and dropped.
bool reduce_and_write(Contents &mine) {
  const ProcessRecord &process = *global.process;
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
  if (process.rank == 0) attempt([&] { writer.emplace(process.output.data(), process.size_limit); });
  Totals totals;
  const auto store = [&](TableId id, const Table &rows) {
    if (id == TableId::processes) totals.add(rows);
    attempt([&] { writer.value().add(id, rows); });
  };
  const auto finish = [&](const Names &names) {
    if (writer) totals.left_out = writer->left_out();
    attempt([&] {
      const std::string wanted{process.output.data()};
      const Info info = make_info(process, totals, {}, true, interpose::interface_name);
      const std::string name = writer.value().finish(names, info, since);
      if (name != wanted)
        interpose::complain(wanted + " stays as it is, being another profile of this run or none at all: " +
                            name + " is the next one");
    });
    if (!problem.empty())
      interpose::complain(
          "the profile " + std::string{process.output.data()} + " could not be written: " + problem +
          (global.arena.recoverable()
               ? "; the records are kept in " + live_directory() + ", for haloscope recover"
               : std::string{"; there was no room for live records: what was recorded is lost"}));
    return problem.empty();
  };
  return reduce(comm, patience, mine, store, finish);
}

// Of all that wait, those that wait for a rank above them speak.
bool reduce_in_time(Contents &mine) {
  try {
    return reduce_and_write(mine);
  } catch (const LateRank &late) {
    if (late.rank > global.process->rank)
      interpose::complain("rank " + std::to_string(late.rank) + " did not come to MPI_Finalize within " +
                          std::to_string(static_cast<int>(patience)) +
                          " s (HALOSCOPE_FINALIZE_TIME); the records of all ranks are kept in " + live_directory() +
                          " on their nodes");
    return false;
  }
}

void finish() {
  const double tick = seconds_per_tick(global.process->first, global.process->last);
  Contents mine = collect(global.arena, *global.process, tick);
  if (!reduce_in_time(mine)) return;
  remove_live_records();
  real.Comm_free(&comm);
}

// Without MPI_Init: ranks know each other, but can't be made to talk.
void start_alone() {
  const interpose::SessionWorld world = interpose::open_session_world();
  if (world.rank < 0) return; // a process outside all worlds
  start_communicators(world.group);
  if (global.phase == Phase::between) {
    resume_process();
    return;
  }
  const Settings settings = read_settings(world.rank == 0, world.size);
  // Each session has a thread level of its own.
  global.several_threads = true;
  const std::uint64_t job = interpose::job_identity(settings.run);
  const std::string run = settings.run.empty() ? "sessions-" + std::to_string(job) : settings.run;
  begin_process(settings, world.rank, world.size, {run, {}, job});
}

void finish_alone() {
  end_process(Phase::between);
  if (!global.process->watched || global.arena.recoverable()) return;
  interpose::complain("the records of rank " + std::to_string(global.process->rank) +
                      " are lost: without MPI_Init ranks leave them to be joined, and there was no room; "
                      "set HALOSCOPE_LIVE to another node-local directory");
}

unsigned sessions = 0;      // that the program has open
bool world_is_open = false; // from MPI_Init to MPI_Finalize

} // namespace

void start_recording() noexcept try {
  const std::lock_guard lock{lifecycle()};
  if (global.phase == Phase::after || world_is_open) return;
  world_is_open = true;
  start();
} catch (const std::exception &error) {
  interpose::complain(std::string{"recording could not start: "} + error.what());
}

void finish_recording() noexcept try {
  {
    const std::lock_guard lock{lifecycle()};
    if (!world_is_open || global.process == nullptr || global.phase == Phase::after) return;
    end_process(Phase::after);
  }
  finish();
} catch (const std::exception &error) {
  interpose::complain(std::string{"the profile was lost: "} + error.what());
}

void start_session() noexcept try {
  const std::lock_guard lock{lifecycle()};
  expect_sessions();
  if (sessions++ > 0 || world_is_open) return;
  if (global.phase == Phase::before || global.phase == Phase::between) start_alone();
} catch (const std::exception &error) {
  interpose::complain(std::string{"recording could not start: "} + error.what());
}

void finish_session() noexcept try {
  const std::lock_guard lock{lifecycle()};
  if (sessions > 0) sessions--;
  if (sessions > 0) return;
  if (!world_is_open && (global.phase == Phase::running || global.phase == Phase::aside)) {
    finish_alone();
    start_communicators(MPI_GROUP_NULL);
  }
  interpose::close_session_world();
} catch (const std::exception &error) {
  interpose::complain(std::string{"the records were lost: "} + error.what());
}

} // namespace haloscope::watch
