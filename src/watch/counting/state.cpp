#include "watch/counting/state.hpp"

#include "watch/counting/chosen_regions.hpp"
#include "watch/counting/cpu_use.hpp"
#include "watch/records/own.hpp"
#include "watch/trace/draining.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace haloscope::watch {

RequestTable pending_requests, matched_messages;

#if !defined(HALOSCOPE_ABI_SIMGRID)
Global the_process;
__thread ThreadState *recording_thread __attribute__((tls_model("initial-exec"))) = nullptr;
#endif

std::uint64_t ask_datatype_size(ThreadState &state, MPI_Datatype datatype) noexcept {
  if (datatype == MPI_DATATYPE_NULL) return 0;
  MPI_Count size = 0;
  if (real.Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) return 0;
  const std::uintptr_t value = value_of(datatype);
  state.datatype_sizes[(value ^ value >> 8U) % ThreadState::cached] = {datatype,
                                                                       static_cast<std::uint64_t>(size)};
  return static_cast<std::uint64_t>(size);
}

bool is_still_inside(ThreadState &state, const void *caller) noexcept {
  if (state.inner_calls.is_inside(state.from, caller)) return true;
  leave_call(state);
  return false;
}

namespace {

// The states of threads that have ended. With the mutex, a thread leaves its state before the counts are
// collected or after that.
struct EndedThreads {
  std::mutex mutex;
  ThreadState *first = nullptr;
  std::atomic<std::size_t> states = 0; // that there are in all
};
// A region or two with a few calls, partners and sizes, and a ring.
constexpr std::size_t counts_of_thread = 8192;
EndedThreads &ended_threads() { return own<EndedThreads>(); }

// All calls are stamped then: the trace is to have the times of each.
void start_trace(ThreadState &state, Arena &arena) noexcept {
  state.ring = trace::make_ring(global().process->trace, arena, ended_threads().states * counts_of_thread);
  if (state.ring == nullptr)
    state.dropped();
  else
    state.stamped_size = 0;
  state.polling.all = state.ring != nullptr;
}

constinit thread_local bool has_recorded = false; // the thread, which attaches again in its last destructors

std::int32_t own_tid() noexcept { return static_cast<std::int32_t>(syscall(SYS_gettid)); }

// What the thread has begun is over; its record stays, for the next one.
[[maybe_unused]] void leave_state(void *own) noexcept {
  auto *state = static_cast<ThreadState *>(own);
  const std::lock_guard lock{ended_threads().mutex};
  const Phase phase = global().phase.load(std::memory_order_relaxed);
  if (this_thread() != state || (phase != Phase::running && phase != Phase::between)) return;
  this_thread() = nullptr;
  if (state->phases != nullptr) return; // the iterations are those of one thread
  state->doing.call = 0;
  const ProcessRecord &process = *state->process;
  const std::uint64_t now = ticks();
  update_off_cpu(*state->record, now, seconds_per_tick(process.first, ClockPair::now()));
  // Without an open region, nothing is known of the time since its last call.
  const std::uint64_t known = std::max(latest_tick(*state->record), state->position->begin);
  end_all(*state, state->position->parent != nullptr ? now : known);
  state->record->tid = 0;
  state->next_ended = std::exchange(ended_threads().first, state);
}

#if !defined(HALOSCOPE_ABI_SIMGRID) // whose ranks are contexts of one thread
// Called again if a destructor of the program calls MPI after ours.
void await_end(ThreadState *state) noexcept {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made{};
    return pthread_key_create(&made, leave_state) == 0 ? std::optional{made} : std::nullopt;
  }();
  if (key) pthread_setspecific(*key, state); // if it fails, the state is not used again
}
#endif

ThreadState *take_ended() noexcept {
  const std::lock_guard lock{ended_threads().mutex};
  ThreadState *state = ended_threads().first;
  if (state != nullptr) ended_threads().first = state->next_ended;
  return state;
}

ThreadState *continue_ended() noexcept {
  ThreadState *state = take_ended();
  if (state == nullptr) return nullptr;
  ThreadRecord &record = *state->record;
  record.threads += has_recorded ? 0 : 1;
  record.newest = std::max(record.newest, ticks());
  record.ended_off_cpu_ticks = record.off_cpu_ticks;
  record.ended_core_wait_ticks = record.core_wait_ticks;
  record.cpu_before = read_cpu_use(record.newest);
  state->known_memory = {};
  if ((state->paused & static_cast<std::uint8_t>(Pause::schedule)) == 0) begin_again(*state);
  record.tid = own_tid();
  const NumericSettings &settings = state->process->settings;
  if (settings.after > 0 || settings.until > 0) pass_deadline(*state, record.newest);
  return state;
}

ThreadState *make_state() noexcept {
  Arena &arena = global().arena;
  // The memory that is left has to do for the counts of all threads. A thread that gets no records takes
  // none.
  const std::size_t counts = (ended_threads().states + 1) * counts_of_thread;
  if (!arena.has_room(sizeof(ThreadRecord) + 2 * sizeof(Node) + sizeof(ThreadState) + counts)) return nullptr;
  ended_threads().states++;
  auto *record = arena.make<ThreadRecord>();
  Node *root = make_root(arena, root_name);
  Node *discard = make_root(arena, "<off>");
  if (record == nullptr || root == nullptr || discard == nullptr) return nullptr;
  auto *state = arena.make<ThreadState>();
  if (state == nullptr) return nullptr;
  record->root = root;
  record->threads = 1;
  record->tid = own_tid();
  record->newest = root->begin;
#if !defined(HALOSCOPE_ABI_SIMGRID) // one thread of the system for all ranks
  record->cpu_before = read_cpu_use(root->begin);
#endif
  state->position = root;
  state->arena = &arena;
  state->process = global().process;
  const NumericSettings &settings = global().process->settings;
  if (settings.exact_times) state->stamped_size = 0;
  state->polling.all = settings.exact_times;
  state->record = record;
  state->discard = discard;
  discard->counts = discard;
  root->counts = counts_outside() ? root : discard;
  state->node = root->counts;
  start_schedule(*state, root->begin);
  record->recorder = state;
  if (settings.callsites) state->sites = make_site_book(static_cast<unsigned>(settings.depth));
#if !defined(HALOSCOPE_ABI_SIMGRID)
  // Only the first thread: calls of other threads are part of its iterations.
  if (settings.phases != 0 && counts_outside() && global().process->threads.load() == nullptr)
    start_phases(*state, {.begin = begin_region, .end = end_region});
#endif
  if (global().process->trace.wanted) start_trace(*state, arena);
  record->next = global().process->threads.load(std::memory_order_relaxed);
  while (!global().process->threads.compare_exchange_weak(record->next, record)) {
  }
  return state;
}

} // namespace

ThreadState *attach_thread() noexcept {
  if (global().phase.load(std::memory_order_acquire) != Phase::running) return nullptr;
  ThreadState *state = continue_ended();
  if (state == nullptr) state = make_state();
  if (state == nullptr) return nullptr;
  this_thread() = state;
  has_recorded = true;
  catch_up(*state);
  // Threads but the first may be OpenMP's, within a parallel region.
  state->parallel_parts = state->record->next == nullptr ? 0 : 1;
  state->calls_before = state->call_ticks();
#if !defined(HALOSCOPE_ABI_SIMGRID)
  await_end(state);
#endif
  return state;
}

ThreadState *attach_or_drop() noexcept {
  ThreadState *state = attach_thread();
  if (state == nullptr && global().phase.load(std::memory_order_relaxed) == Phase::running)
    global().process->dropped.fetch_add(1, std::memory_order_relaxed);
  return state;
}

void change_phase(Phase phase) noexcept {
  const std::lock_guard lock{ended_threads().mutex};
  global().phase.store(phase);
}

} // namespace haloscope::watch
