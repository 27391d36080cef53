// A tool for OpenMP's interface OMPT. The runtime looks for `ompt_start_tool` when it is initialised, and
// calls the functions here at the begin and end of parallel regions, of each thread's part in them, and of
// waiting in barriers.
//
// Only regions that a recorded thread begins outside of MPI count, with the regions in them. Threads of the
// runtime need no records: what they do is in thread-local memory until they add it to their team.
#include "watch/annotations/openmp.hpp"

#include "interpose/library.hpp"
#include "watch/annotations/ompt.hpp"
#include "watch/annotations/openmp_team.hpp"
#include "watch/counting/state.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string_view>
#include <utility>

namespace haloscope::watch {

namespace {

// A thread's part of a parallel region, which OpenMP calls its implicit task.
struct Part {
  Team *team = nullptr; // nullptr: not recorded
  std::uint32_t generation = 0;
  unsigned index = 0;
  std::uint64_t begin = 0, waited = 0;
  std::uint64_t waits_since = 0; // 0: it is in no barrier, or has arrived
  std::uint64_t works_since = 0; // after its arrival; 0: it does not
  std::uint64_t nested = 0;      // time in regions that the thread began in this one
  std::uint64_t calls = 0;       // MPI time of the thread when this began, or was counted
  std::uint64_t busy = 0;        // up to its arrival, and what it worked after that
  bool was_recording = false;    // the thread had records then
  bool has_arrived = false, in_task = false;
};
// Regions nested deeper count as computing of the threads that begin them.
constexpr unsigned deepest_part = 4;
struct Parts {
  unsigned depth;
  std::array<Part, deepest_part> open;
};
constinit __thread Parts thread_parts __attribute__((tls_model("initial-exec"))) = {};

// What the tool stores for a task that is a thread's part of a region. The runtime stores 0 for others.
constexpr std::uint64_t mark_of_part = 1;

Part *current_part() noexcept {
  Parts &parts = thread_parts;
  if (parts.depth == 0 || parts.depth > deepest_part) return nullptr;
  Part &part = parts.open[parts.depth - 1];
  return part.team == nullptr ? nullptr : &part;
}

bool is_running() noexcept { return global().phase.load(std::memory_order_relaxed) == Phase::running; }

// MPI time of the calling thread since the last call of this function for the part.
std::uint64_t take_calls(Part &part) noexcept {
  const ThreadState *state = this_thread();
  if (state == nullptr || !is_running()) return 0;
  const std::uint64_t before = std::exchange(part.was_recording, true) ? part.calls : state->calls_before;
  part.calls = state->call_ticks();
  return part.calls - std::min(part.calls, before);
}
std::uint64_t less(std::uint64_t time, std::uint64_t part) noexcept { return time - std::min(time, part); }

void arrive(Part &part, std::uint64_t now) noexcept {
  part.has_arrived = true;
  const std::uint64_t busy = now - part.begin - part.waited, nested = std::exchange(part.nested, 0);
  const std::uint64_t calling = std::min(take_calls(part), less(busy, nested));
  part.busy = busy;
  part.waits_since = 0;
  part.team->arrive(part.index, {.now = now,
                                 .begin = part.begin,
                                 .waited = part.waited,
                                 .calling = calling,
                                 .computing = less(busy, nested + calling)});
}

// A thread that has arrived has worked again.
void add_late_work(Part &part, std::uint64_t now) noexcept {
  const std::uint64_t duration = now - std::exchange(part.works_since, 0);
  const std::uint64_t nested = std::exchange(part.nested, 0);
  const std::uint64_t calling = std::min(take_calls(part), less(duration, nested));
  part.busy += duration;
  if (part.generation == part.team->generation())
    part.team->add_late_work(part.index, duration, less(duration, nested + calling), calling, part.busy);
}

void on_parallel_begin(ompt::Data * /*task*/, const void * /*frame*/, ompt::Data *region,
                       unsigned /*requested*/, int flags, const void * /*code*/) noexcept {
  region->pointer = nullptr;
  if ((flags & ompt::league) != 0 || !is_running()) return;
  Node *node = nullptr;
  const Part *around = current_part();
  if (around == nullptr) {
    ThreadState *state = this_thread();
    if (thread_parts.depth > 0 || state == nullptr || is_inside_call(*state)) return;
    catch_up(*state);
    node = state->node;
  } else if (thread_parts.depth == deepest_part) {
    return;
  }
  Team *team = Team::take();
  if (team == nullptr) return;
  if (around == nullptr)
    team->begin(node, nullptr, 0, ticks());
  else
    team->begin(nullptr, around->team, around->index, ticks());
  region->pointer = team;
}

void count_region(const Team &team, const TeamSums &sums, std::uint64_t time) noexcept {
  Node &node = *team.node();
  node.omp_regions += sums.regions;
  node.omp_parallel_ticks += time;
  node.omp_team_ticks += sums.available;
  node.omp_thread_ticks += sums.computing;
  node.omp_mpi_ticks += sums.calling;
  node.omp_barrier_ticks += sums.waiting;
  node.omp_imbalance_ticks += sums.imbalance;
  node.omp_threads = std::max(node.omp_threads, team.most_threads());
}

void on_parallel_end(ompt::Data *region, ompt::Data * /*task*/, int /*flags*/,
                     const void * /*code*/) noexcept {
  auto *team = static_cast<Team *>(region->pointer);
  if (team == nullptr) return;
  region->pointer = nullptr;
  const std::uint64_t now = ticks(), time = now - team->begun();
  const TeamSums sums = team->end(now);
  if (team->around() == nullptr) {
    if (is_running()) count_region(*team, sums, time);
  } else if (Part *around = current_part()) {
    around->nested += time;
  }
  team->give_back();
}

void begin_part(const ompt::Data *region, ompt::Data *task, unsigned threads, unsigned index) noexcept {
  Parts &parts = thread_parts;
  if (++parts.depth > deepest_part) return;
  Part &part = parts.open[parts.depth - 1];
  part = {};
  auto *team = region == nullptr ? nullptr : static_cast<Team *>(region->pointer);
  if (team == nullptr) return;
  if (task != nullptr) task->value = mark_of_part;
  if (index == 0) team->set_threads(threads);
  part.team = team;
  part.generation = team->generation();
  part.index = index;
  if (ThreadState *state = this_thread()) {
    state->parallel_parts++;
    part.was_recording = true;
    part.calls = state->call_ticks();
  }
  part.begin = ticks();
}

void end_part() noexcept {
  Parts &parts = thread_parts;
  if (parts.depth == 0) return;
  if (Part *part = current_part()) {
    // The region of the thread that began it has not ended.
    const bool is_open = part->index == 0 || part->generation == part->team->generation();
    if (!part->has_arrived && is_open) arrive(*part, ticks());
    if (part->works_since != 0 && part->index == 0) add_late_work(*part, ticks());
    ThreadState *state = this_thread();
    if (state != nullptr && state->parallel_parts > 0) state->parallel_parts--;
    part->team = nullptr;
  }
  parts.depth--;
}

void on_implicit_task(int endpoint, ompt::Data *region, ompt::Data *task, unsigned threads, unsigned index,
                      int flags) noexcept {
  if ((flags & ompt::initial_task) != 0) return;
  if (endpoint == ompt::scope_begin)
    begin_part(region, task, threads, index);
  else
    end_part();
}

bool is_barrier(int kind) noexcept {
  return (kind >= ompt::barrier && kind <= ompt::internal_barrier) ||
         (kind >= ompt::end_of_workshare && kind <= ompt::end_of_teams);
}

// Older runtimes do not distinguish the end of a region from other barriers that no one has written.
bool may_be_last(int kind) noexcept {
  return kind == ompt::implicit_barrier || kind == ompt::barrier || kind == ompt::end_of_parallel ||
         kind == ompt::end_of_teams;
}

void begin_wait(Part &part, int kind) noexcept {
  const std::uint64_t now = ticks();
  if (part.works_since != 0) {
    add_late_work(part, now);
  } else if (!part.has_arrived && may_be_last(kind)) {
    arrive(part, now);
  } else if (!part.has_arrived) {
    part.waits_since = now;
  }
}

void end_wait(Part &part) noexcept {
  if (part.has_arrived) {
    part.works_since = ticks(); // or its part ends now
  } else if (part.waits_since != 0) {
    part.waited += ticks() - part.waits_since;
    part.waits_since = 0;
  }
}

void on_wait(int kind, int endpoint, ompt::Data * /*region*/, ompt::Data * /*task*/,
             const void * /*code*/) noexcept {
  Part *part = is_barrier(kind) ? current_part() : nullptr;
  if (part == nullptr) return;
  if (endpoint == ompt::scope_begin)
    begin_wait(*part, kind);
  else
    end_wait(*part);
}

// A thread that waits in a barrier executes tasks meanwhile.
void begin_task(Part &part) noexcept {
  if (part.in_task) return; // a task that another one waits for
  const bool waits = part.waits_since != 0 || (part.has_arrived && part.works_since == 0);
  if (!waits) return;
  part.in_task = true;
  const std::uint64_t now = ticks();
  if (part.has_arrived) {
    part.works_since = now;
  } else {
    part.waited += now - part.waits_since;
    part.waits_since = 0;
  }
}

void end_task(Part &part) noexcept {
  if (!part.in_task) return;
  part.in_task = false;
  const std::uint64_t now = ticks();
  if (part.has_arrived)
    add_late_work(part, now);
  else
    part.waits_since = now;
}

void on_task_schedule(ompt::Data * /*prior*/, int /*status*/, ompt::Data *next) noexcept {
  Part *part = next == nullptr ? nullptr : current_part();
  if (part == nullptr) return;
  if (next->value == mark_of_part)
    end_task(*part);
  else
    begin_task(*part);
}

// What `describe_openmp` returns.
constinit std::atomic<const char *> openmp_use{nullptr};

template <class Callback>
void set_callback(ompt::SetCallback set, ompt::Event event, Callback *callback) noexcept {
  set(event, reinterpret_cast<ompt::Function>(callback));
}

int initialize_tool(ompt::Lookup lookup, int /*device*/, ompt::Data * /*data*/) noexcept {
  const auto set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  set_callback(set, ompt::parallel_begin, on_parallel_begin);
  set_callback(set, ompt::parallel_end, on_parallel_end);
  set_callback(set, ompt::implicit_task, on_implicit_task);
  set_callback(set, ompt::sync_region_wait, on_wait);
  set_callback(set, ompt::task_schedule, on_task_schedule);
  openmp_use = "recorded";
  return 1;
}
void finalize_tool(ompt::Data * /*data*/) noexcept {}

constinit ompt::Tool recorder_tool{initialize_tool, finalize_tool, {}};

bool has_variable(const char *name) noexcept {
  const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): inside the runtime's initialisation
  return value != nullptr && *value != '\0';
}

// Python opens its MPI late: what a launcher has started is a rank then.
bool may_be_rank() noexcept {
  if (void *init = dlsym(RTLD_DEFAULT, "PMPI_Init")) return interpose::library_fits(init);
  return has_variable("PMI_RANK") || has_variable("PMIX_RANK") || has_variable("SLURM_PROCID");
}

int find_libgomp(dl_phdr_info *library, std::size_t /*size*/, void * /*argument*/) noexcept {
  const std::string_view path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  return path.substr(path.rfind('/') + 1).starts_with("libgomp.so") ? 1 : 0;
}

} // namespace

const char *describe_openmp() noexcept {
  if (const char *use = openmp_use) return use;
  return dl_iterate_phdr(find_libgomp, nullptr) != 0 ? "no interface" : "";
}

} // namespace haloscope::watch

// The interface has room for one tool. One of the user's comes first, and so does that of LLVM's race
// detector, for which the runtime looks last.
extern "C" __attribute__((visibility("default"))) haloscope::watch::ompt::Tool *
ompt_start_tool(unsigned version, const char *runtime) noexcept {
  using namespace haloscope::watch;
  if (auto *next = reinterpret_cast<ompt::StartTool *>(dlsym(RTLD_NEXT, "ompt_start_tool")))
    if (ompt::Tool *other = next(version, runtime)) {
      openmp_use = "another tool";
      return other;
    }
  if (has_variable("OMP_TOOL_LIBRARIES") || dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr) {
    openmp_use = "another tool";
    return nullptr;
  }
  return may_be_rank() ? &recorder_tool : nullptr;
}
