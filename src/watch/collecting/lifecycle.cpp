#include "watch/collecting/lifecycle.hpp"

#include "interpose/report.hpp"
#include "interpose/sessions.hpp"
#include "interpose/taking_part.hpp"
#include "watch/annotations/started.hpp"
#include "watch/collecting/process.hpp"
#include "watch/collecting/settings.hpp"
#include "watch/collecting/world.hpp"
#include "watch/counting/state.hpp"
#include "watch/gpu/device_memory.hpp"

#include <cstdlib>
#include <mutex>
#include <string>

namespace haloscope::watch {

namespace {

struct Life {
  std::mutex mutex; // of the four functions here, which only programs with sessions call at the same time
  unsigned sessions = 0;      // that the program has open
  bool world_is_open = false; // from MPI_Init to MPI_Finalize
};
Life &life() { return own<Life>(); }

void start() {
  look_for_gpu();
  int level = 0;
  real.Query_thread(&level);
  const bool begun = global().process != nullptr; // by a session
  const World world = join_world(begun);
  MPI_Group group = MPI_GROUP_NULL;
  real.Comm_group(MPI_COMM_WORLD, &group);
  start_communicators(group);
  global().several_threads = global().several_threads || level == MPI_THREAD_MULTIPLE;
  if (!begun)
    begin_process(world.settings, world.rank, world.size, world.place);
  else if (global().phase == Phase::between)
    resume_process();
  align_clocks();
  annotations_started();
}

// Without MPI_Init: ranks know each other, but can't be made to talk.
void start_alone() {
  look_for_gpu();
  const interpose::SessionWorld world = interpose::open_session_world();
  if (world.rank < 0) return; // a process outside all worlds
  start_communicators(world.group);
  if (global().phase == Phase::between) {
    resume_process();
    annotations_started();
    return;
  }
  const Settings settings = read_settings(world.rank == 0, world.size);
  // Each session has a thread level of its own.
  global().several_threads = true;
  const std::uint64_t job = interpose::job_identity(settings.run);
  const std::string run = settings.run.empty() ? "sessions-" + std::to_string(job) : settings.run;
  begin_process(settings, world.rank, world.size, {run, {}, job});
  annotations_started();
}

void finish_alone() {
  end_process(Phase::between);
  if (!global().process->watched || global().arena.recoverable()) return;
  interpose::complain(
      "the records of rank " + std::to_string(global().process->rank) +
      " are lost: without MPI_Init they are joined after the run, but there was no space for them; "
      "set HALOSCOPE_LIVE to a different node-local directory");
}

// Where everything is watched, programs may use another MPI than this recorder knows, and ranks on other
// nodes may have none: Open MPI starts them without this environment, unless a batch system passes it on. All
// ranks decide alike.
bool stays_out() {
  if (!interpose::library_fits()) return true;
  if (!interpose::is_always_on()) return false;
  const auto variable = [](const char *name) {
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
    return std::string{value == nullptr ? "" : value};
  };
  const bool on_one_node = variable("OMPI_COMM_WORLD_LOCAL_SIZE") == variable("OMPI_COMM_WORLD_SIZE");
  return !on_one_node && variable("SLURM_JOB_ID").empty() && variable("PBS_JOBID").empty();
}

// Whether other ranks have no recorder. A world that sessions have begun is not asked again.
bool is_alone() {
#if defined(HALOSCOPE_ABI_SIMGRID)
  return false;
#else
  return global().process == nullptr &&
         !interpose::do_all_ranks_take_part(interpose::Part::recorder, "this run is not recorded");
#endif
}

} // namespace

void start_recording() noexcept try {
  const std::lock_guard lock{life().mutex};
  if (global().phase == Phase::after || life().world_is_open) return;
  if (stays_out() || is_alone()) {
    global().phase = Phase::after;
    return;
  }
  life().world_is_open = true;
  start();
} catch (const std::exception &error) {
  interpose::complain(std::string{"recording could not start: "} + error.what());
}

void finish_recording() noexcept try {
  {
    const std::lock_guard lock{life().mutex};
    if (!life().world_is_open || global().process == nullptr || global().phase == Phase::after) return;
    end_process(Phase::after);
  }
  leave_world();
} catch (const std::exception &error) {
  interpose::complain(std::string{"the profile was lost: "} + error.what());
}

void start_session() noexcept try {
  const std::lock_guard lock{life().mutex};
  if (global().phase == Phase::after || stays_out()) {
    global().phase = Phase::after;
    return;
  }
  expect_sessions();
  if (life().sessions++ > 0 || life().world_is_open) return;
  if (global().phase == Phase::before || global().phase == Phase::between) start_alone();
} catch (const std::exception &error) {
  interpose::complain(std::string{"recording could not start: "} + error.what());
}

void finish_session() noexcept try {
  const std::lock_guard lock{life().mutex};
  if (life().sessions > 0) life().sessions--;
  if (life().sessions > 0) return;
  if (!life().world_is_open && (global().phase == Phase::running || global().phase == Phase::aside)) {
    finish_alone();
    start_communicators(MPI_GROUP_NULL);
  }
  interpose::close_session_world();
} catch (const std::exception &error) {
  interpose::complain(std::string{"the records were lost: "} + error.what());
}

} // namespace haloscope::watch
