#include "lifecycle.hpp"

#include "collect.hpp"
#include "profile.hpp"
#include "reduce.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "state.hpp"
#include "summary.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <pthread.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace haloscope::watch {

namespace {

struct Run {
  MPI_Comm comm = MPI_COMM_NULL; // ours alone
  std::string name, live_path, live_directory;
  std::uint64_t world = 0;
  double patience = 0; // seconds to wait for a rank in MPI_Finalize
};
Run &run() {
  static Run *instance = new Run;
  return *instance;
}

template <std::size_t size> void copy_into(std::array<char, size> &to, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.begin(), length, to.begin());
  to[length] = '\0';
}

// Ranks of one run agree on a name for it, when nobody gave one, and on the identity of their world: a
// run may have several programs.
void agree_on_run(const std::string &given) {
  struct {
    std::array<char, 64> name{};
    std::uint64_t world = 0;
  } agreed;
  agreed.world = nanoseconds(CLOCK_REALTIME) ^ static_cast<std::uint64_t>(getpid()) << 40U;
  copy_into(agreed.name,
            given.empty() ? std::to_string(getpid()) + "-" + std::to_string(agreed.world) : given);
  real.Bcast(&agreed, sizeof agreed, MPI_CHAR, 0, run().comm);
  run().name = agreed.name.data();
  run().world = agreed.world;
}

// Spawned processes are a world of their own, and inherit the settings of the one that spawned them.
std::string world_name() {
  MPI_Comm parent = MPI_COMM_NULL;
  real.Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return {};
  int first = getpid();
  real.Bcast(&first, 1, MPI_INT, 0, run().comm);
  return "spawned-" + std::to_string(first);
}

std::string output_of(const std::string &world, const std::string &output) {
  if (world.empty()) return output;
  const bool named = output.ends_with(".halo");
  return output.substr(0, output.size() - (named ? 5 : 0)) + "-" + world + (named ? ".halo" : "");
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  real.Get_library_version(text.data(), &length);
  std::string version{text.data()};
  std::ranges::replace(version, '\t', ' ');
  return version.substr(0, version.find('\n'));
}

// Room for a process that only says that it was there.
constexpr std::size_t memory_unwatched = std::size_t{64} << 10U;

// Returns whether this rank is to record.
bool make_arena(const Settings &settings, int rank, const std::string &world) {
  run().live_directory = settings.live + "/haloscope-" + run().name;
  mkdir(run().live_directory.c_str(), 0700);
  if (!world.empty()) {
    run().live_directory += "/" + world;
    mkdir(run().live_directory.c_str(), 0700);
  }
  run().live_path =
      run().live_directory + "/" + std::to_string(rank) + "-" + std::to_string(getpid()) + ".live";
  const char *path = run().live_path.c_str();
  const bool wanted = settings.records(rank);
  const bool watched = wanted && global.arena.create(path, settings.memory);
  if (wanted && !watched)
    complain("no memory for recording on rank " + std::to_string(rank) + "; it is not watched");
  if (!watched && !global.arena.create(path, memory_unwatched)) throw std::bad_alloc{};
  if (watched && !global.arena.recoverable())
    complain("no room for live records in " + settings.live + " (rank " + std::to_string(rank) +
             "): what this rank records is lost if it does not reach MPI_Finalize; "
             "set HALOSCOPE_LIVE to another node-local directory");
  return watched;
}

void describe(ProcessRecord &process, const Settings &settings, int rank, int size) {
  process.world = run().world;
  process.rank = rank;
  process.size = size;
  process.pid = getpid();
  process.exact_times = settings.exact_times;
  gethostname(process.host.data(), process.host.size() - 1);
  copy_into(process.program, program_name());
  copy_into(process.library, library_version());
  copy_into(process.command, settings.command);
  copy_into(process.output, expand(settings.output, size, process.program.data()));
  process.start = 1e-9 * static_cast<double>(nanoseconds(CLOCK_REALTIME));
  process.first = ClockPair::now();
  process.layout = record_layout;
  process.magic = ProcessRecord::expected_magic;
}

void start() {
  int rank = 0;
  int size = 0;
  int level = 0;
  real.Comm_dup(MPI_COMM_WORLD, &run().comm);
  real.Comm_set_errhandler(run().comm, MPI_ERRORS_RETURN);
  real.Comm_rank(run().comm, &rank);
  real.Comm_size(run().comm, &size);
  real.Query_thread(&level);
  Settings settings = read_settings(rank == 0, size);
  const std::string world = world_name();
  settings.output = output_of(world, settings.output);
  run().patience = settings.finalize_time;
  agree_on_run(settings.run);
  set_series(settings.series.c_str());
  const bool watched = make_arena(settings, rank, world);
  global.process = global.arena.make<ProcessRecord>();
  if (global.process == nullptr) throw std::bad_alloc{};
  global.process->watched = watched;
  describe(*global.process, settings, rank, size);
  if (!watched) {
    global.phase.store(Phase::aside, std::memory_order_release);
    return;
  }
  start_communicators();
  global.several_threads = level == MPI_THREAD_MULTIPLE;
  // A forked child has our records mapped; it is no rank of this program.
  pthread_atfork(nullptr, nullptr, [] {
    global.phase.store(Phase::after, std::memory_order_relaxed);
    this_thread = nullptr;
  });
  global.phase.store(Phase::running, std::memory_order_release);
  attach_thread();
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
  if (process.rank == 0) attempt([&] { writer.emplace(process.output.data()); });
  Totals totals;
  const auto store = [&](TableId id, const Table &rows) {
    if (id == TableId::processes) totals.add(rows);
    attempt([&] { writer.value().add(id, rows); });
  };
  const auto finish = [&](const Names &names) {
    attempt([&] { writer.value().finish(names, make_info(process, totals, {}, true, interface_name)); });
    if (!problem.empty())
      complain("the profile " + std::string{process.output.data()} + " could not be written: " + problem +
               (global.arena.recoverable()
                    ? "; the records are kept in " + run().live_directory + ", for haloscope recover"
                    : std::string{"; there was no room for live records: what was recorded is lost"}));
    return problem.empty();
  };
  return reduce(run().comm, run().patience, mine, store, finish);
}

// Of all that wait, those that wait for a rank above them speak.
bool reduce_in_time(Contents &mine) {
  try {
    return reduce_and_write(mine);
  } catch (const LateRank &late) {
    if (late.rank > global.process->rank)
      complain("rank " + std::to_string(late.rank) + " did not come to MPI_Finalize within " +
               std::to_string(static_cast<int>(run().patience)) +
               " s (--finalize-time); the records of all ranks are kept in " + run().live_directory +
               " on their nodes");
    return false;
  }
}

void finish() {
  global.process->last = ClockPair::now();
  global.process->finalized = true;
  const double tick = seconds_per_tick(global.process->first, global.process->last);
  Contents mine = collect(global.arena, *global.process, tick);
  if (!reduce_in_time(mine)) return;
  if (global.arena.recoverable()) {
    unlink(run().live_path.c_str());
    rmdir(run().live_directory.c_str()); // the last rank of the node succeeds
  }
  real.Comm_free(&run().comm);
}

} // namespace

void start_recording() noexcept try {
  if (global.phase.load() == Phase::before) start();
} catch (const std::exception &error) {
  complain(std::string{"recording could not start: "} + error.what());
}

void finish_recording() noexcept try {
  const Phase phase = global.phase.load();
  if (phase == Phase::before || global.phase.exchange(Phase::after) == Phase::after) return;
  ThreadState *state = this_thread;
  if (state != nullptr) {
    pause(*state, false);
    end_all(*state);
    state->busy = true; // for good
  }
  finish();
} catch (const std::exception &error) {
  complain(std::string{"the profile was lost: "} + error.what());
}

} // namespace haloscope::watch
