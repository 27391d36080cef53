#include "watch/counting/state.hpp"

#include "watch/counting/chosen_regions.hpp"
#include "watch/counting/cpu_use.hpp"
#include "watch/trace/draining.hpp"

#include <sys/syscall.h>
#include <unistd.h>

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

namespace {

// All calls are stamped then: the trace is to have the times of each.
void start_trace(ThreadState &state, Arena &arena) noexcept {
  state.ring = trace::make_ring(global().process->trace, arena);
  if (state.ring == nullptr)
    state.dropped();
  else
    state.stamped_size = 0;
}

} // namespace

ThreadState *attach_thread() noexcept {
  if (global().phase.load(std::memory_order_acquire) != Phase::running) return nullptr;
  Arena &arena = global().arena;
  auto *record = arena.make<ThreadRecord>();
  Node *root = make_root(arena, root_name);
  Node *discard = make_root(arena, "<off>");
  if (record == nullptr || root == nullptr || discard == nullptr) return nullptr;
  auto *state = arena.make<ThreadState>();
  if (state == nullptr) return nullptr;
  record->root = root;
  record->tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  record->newest = root->begin;
#if !defined(HALOSCOPE_ABI_SIMGRID) // one thread of the system for all ranks
  record->cpu_before = read_cpu_use(root->begin);
#endif
  state->position = root;
  state->arena = &arena;
  state->process = global().process;
  const NumericSettings &settings = global().process->settings;
  if (settings.exact_times) state->stamped_size = 0;
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
  this_thread() = state;
  return state;
}

} // namespace haloscope::watch
