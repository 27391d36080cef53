#include "watch/collecting/process.hpp"

#include "watch/phases/observe_call.hpp"

#include "interpose/report.hpp"
#include "watch/annotations/openmp.hpp"
#include "watch/collecting/binding.hpp"
#include "watch/collecting/world.hpp"
#include "watch/counting/answer.hpp"
#include "watch/counting/chosen_regions.hpp"
#include "watch/counting/cpu_use.hpp"
#include "watch/counting/job.hpp"
#include "watch/counting/masking.hpp"
#include "watch/counting/metadata.hpp"
#include "watch/counting/state.hpp"
#include "watch/trace/draining.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <new>
#include <pthread.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace haloscope::watch {

namespace {

struct Live {
  std::string directory, path;
};
Live &live_records() { return own<Live>(); }

template <std::size_t size> void copy_into(std::array<char, size> &to, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.begin(), length, to.begin());
  to[length] = '\0';
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  real.Get_library_version(text.data(), &length);
  std::string version{text.data()};
  std::ranges::replace(version, '\t', ' ');
  return version.substr(0, version.find('\n'));
}

// The words that started this process.
std::string own_command() {
  std::ifstream stream{"/proc/self/cmdline"};
  std::string command;
  for (std::string word; std::getline(stream, word, '\0');)
    command += (command.empty() ? "" : " ") + quoted_word(word);
  return command;
}

// A list that is too long is left out completely.
template <std::size_t size> void copy_list(std::array<char, size> &to, const std::string &list) {
  copy_into(to, list.size() < size ? list : "");
}

[[maybe_unused]] void describe_binding(ProcessRecord &process) {
  const Binding binding = read_binding();
  copy_list(process.cpus, binding.cpus);
  copy_list(process.numa_nodes, binding.numa_nodes);
  copy_list(process.sockets, binding.sockets);
}

// Directories have their names as they are, except those of the pattern that `haloscope env --always` sets.
std::string name_output(const std::string &pattern, int size, const std::string &program) {
  const std::size_t name = interpose::is_always_on() ? 0 : pattern.rfind('/') + 1;
  return pattern.substr(0, name) + expand(pattern.substr(name), size, program);
}

// Room for a process that only says that it was there.
constexpr std::size_t memory_unwatched = std::size_t{64} << 10U;

void make_directories(const Settings &settings, const RunPlace &place) {
  live_records().directory = settings.live + "/haloscope-" + place.run;
  mkdir(live_records().directory.c_str(), 0700);
  if (place.spawned.empty()) return;
  live_records().directory += "/" + place.spawned;
  mkdir(live_records().directory.c_str(), 0700);
}

// The rings' memory, which is in addition to the recorder's: threads never leave too little for counts. Where
// the program's limits do not allow that much, few rings must do.
bool create_with_rings(Arena &arena, const char *path, const Settings &settings) noexcept {
  constexpr std::size_t few = std::size_t{2} << 20U;
  const std::size_t all = settings.trace ? 8 * settings.trace_memory : 0;
  for (const std::size_t rings : {all, std::min(few, all), std::size_t{0}})
    if (arena.create(path, settings.memory + rings)) return true;
  return false;
}

// Returns whether this rank is to record.
bool make_arena(const Settings &settings, int rank, bool lives) {
  if (lives)
    live_records().path =
        live_records().directory + "/" + std::to_string(rank) + "-" + std::to_string(getpid()) + ".live";
  const char *path = live_records().path.c_str();
  const bool wanted = settings.records(rank);
  const bool watched = wanted && create_with_rings(global().arena, path, settings);
  global().arena.keep_for_totals(settings.memory / 4);
  if (wanted && !watched)
    interpose::complain("no memory for recording on rank " + std::to_string(rank) + "; it is not recorded");
  if (!watched && !global().arena.create(path, memory_unwatched)) throw std::bad_alloc{};
  if (watched && lives && !global().arena.recoverable())
    interpose::complain("no space for live records in " + settings.live + " (rank " + std::to_string(rank) +
                        "): its records are lost if it does not reach MPI_Finalize; "
                        "set HALOSCOPE_LIVE to a different node-local directory");
  return watched;
}

// Times count from here.
void set_off(ProcessRecord &process) {
  process.start = 1e-9 * static_cast<double>(nanoseconds(CLOCK_REALTIME));
#if !defined(HALOSCOPE_ABI_SIMGRID)
  process.use_before = read_process_use();
#endif
  process.first = ClockPair::now();
}

// The calling thread ends what is recorded.
void set_end(ProcessRecord &process, ThreadState *state) {
  process.last = ClockPair::now();
#if !defined(HALOSCOPE_ABI_SIMGRID)
  if (state != nullptr)
    update_off_cpu(*state->record, process.last.tick, seconds_per_tick(process.first, process.last));
  const ProcessUse &before = process.use_before, now = read_process_use();
  process.use = {now.cpu - std::min(now.cpu, before.cpu),
                 now.preemptions - std::min(now.preemptions, before.preemptions)};
  process.memory_max = read_memory_max();
  copy_into(process.openmp, describe_openmp());
#endif
}

void describe(ProcessRecord &process, const Settings &settings, int rank, int size) {
  process.rank = rank;
  process.size = size;
  process.pid = getpid();
  process.on_one_node = is_on_one_node(size);
  process.settings = settings;
  // All ranks together have at most 262144 rows.
  process.most_slices =
      static_cast<std::uint32_t>(std::clamp(262'144 / size, 32, static_cast<int>(Slices::most)));
  copy_into(process.host, host_name());
  copy_into(process.only, settings.only);
  copy_into(process.series, settings.series);
  copy_into(process.program, shown_program());
  copy_into(process.library, library_version());
  copy_into(process.command, mask_secrets(settings.command.empty() ? own_command() : settings.command));
  copy_into(process.output, name_output(settings.output, size, process.program.data()));
  if (rank == 0 && interpose::is_always_on()) make_directories_of(process.output.data());
#if !defined(HALOSCOPE_ABI_SIMGRID) // one process of the system for all ranks
  describe_binding(process);
#endif
  real.Get_version(&process.mpi_version, &process.mpi_subversion);
  set_off(process);
  process.layout = record_layout;
  process.magic = ProcessRecord::expected_magic;
}

std::string spool_link() {
  const std::string &live = live_records().path;
  return live.substr(0, live.size() - std::string_view{".live"}.size()) + ".spool";
}

void describe_rings(TraceRecord &trace, const Settings &settings) {
  trace.wanted = settings.trace;
  trace.compact = settings.trace_compact;
  trace.ring_bytes = settings.trace_memory;
  trace.ring_room = global().arena.capacity() - settings.memory;
}

// The trace is in the spool's directory: a run may be long, and live records are in memory.
[[maybe_unused]] void describe_spool(ProcessRecord &process, const Settings &settings,
                                     const RunPlace &place) {
  const std::string run = place.run.empty() ? std::to_string(place.world) : place.run;
  copy_into(process.trace.spool, settings.trace_spool + "/haloscope-" + run + "-" +
                                     std::to_string(process.rank) + "-" + std::to_string(process.pid) +
                                     ".spool");
  // Readers of the live records find the spool by this link, because it is in a different directory.
  if (process.trace.wanted && global().arena.recoverable() &&
      symlink(process.trace.spool.data(), spool_link().c_str()) != 0)
    interpose::complain("no link to the trace of rank " + std::to_string(process.rank) + " in " +
                        live_directory());
}

bool has_spool() { return global().process->trace.wanted && global().process->trace.spool[0] != '\0'; }

} // namespace

void begin_process(const Settings &settings, int rank, int size, const RunPlace &place) {
  set_series(settings.series.c_str());
  set_only(settings.only.c_str());
  const bool lives = !place.run.empty();
  if (lives) make_directories(settings, place);
  const bool watched = make_arena(settings, rank, lives);
  global().process = global().arena.make<ProcessRecord>();
  if (global().process == nullptr) throw std::bad_alloc{};
  global().process->watched = watched;
  global().process->world = place.world;
  copy_into(global().process->run, place.run);
  describe(*global().process, settings, rank, size);
  if (watched) describe_rings(global().process->trace, settings);
#if !defined(HALOSCOPE_ABI_SIMGRID) // one thread for all ranks: a trace is in the rings until the rank ends
  if (watched) describe_spool(*global().process, settings, place);
#endif
  begin_metadata(*global().process);
  global().sync_collectives = static_cast<unsigned>(settings.sync_collectives);
  if (!watched) {
    global().phase.store(Phase::aside, std::memory_order_release);
    return;
  }
  // A forked child has our records mapped; it is no rank of this program.
  pthread_atfork(nullptr, nullptr, [] {
    global().phase.store(Phase::after, std::memory_order_relaxed);
    this_thread() = nullptr;
  });
#if !defined(HALOSCOPE_ABI_SIMGRID) // whose ranks nobody can ask
  if (lives) start_answering(*global().process);
#endif
  if (has_spool()) trace::start_draining(global().arena, *global().process);
  set_off(*global().process); // once more: threads of ours may take milliseconds to start
  global().phase.store(Phase::running, std::memory_order_release);
  attach_thread();
}

void end_process(Phase phase) {
  change_phase(phase);
  ThreadState *state = this_thread();
  if (state != nullptr) {
    switch_program(false);
    pause(*state, Pause::program, false);
    pause(*state, Pause::schedule, false);
    finish_phases(*state);
    end_all(*state, ticks());
    state->begin_call();
    state->doing.call = static_cast<std::uint16_t>(Function::Finalize) + 1; // until it begins again
    state->from = 0;                                                        // whatever returns or not
  }
  if (has_spool()) trace::stop_draining();
  set_end(*global().process, state);
  global().process->finalized = true;
}

void resume_process() {
  global().process->finalized = false;
  if (has_spool()) trace::start_draining(global().arena, *global().process);
  global().phase.store(global().process->watched ? Phase::running : Phase::aside);
  ThreadState *state = this_thread();
  if (state == nullptr) return;
  begin_again(*state);
  state->doing.call = 0;
}

const std::string &live_directory() noexcept { return live_records().directory; }

void remove_live_records() noexcept {
  if (global().process->trace.wanted) unlink(global().process->trace.spool.data());
  if (!global().arena.recoverable()) return;
  if (global().process->trace.wanted) unlink(spool_link().c_str());
  // A program that has another user or root directory now can't: the record then counts as one without data.
  if (unlink(live_records().path.c_str()) != 0) global().process->magic = 0;
  rmdir(live_directory().c_str()); // the last rank of the node succeeds
}

} // namespace haloscope::watch
