// The recorder in one MPI process, and the way into it from a wrapper.
#pragma once

#include "interpose/active_call.hpp"
#include "interpose/library.hpp"
#include "watch/counting/communicators.hpp"
#include "watch/counting/recording.hpp"
#include "watch/gpu/device_memory.hpp"
#include "watch/records/own.hpp"
#include "watch/records/requests.hpp"

#include <array>
#include <atomic>
#include <vector>

namespace haloscope::watch {

using interpose::forward;
using interpose::is_finished;
using interpose::received_bytes;
using interpose::resolve;
using interpose::was_cancelled;

// In the epoch of a process: the program has switched recording off.
inline constexpr std::uint32_t paused_by_program = 1;

// The state of a thread that its wrappers need in addition to the records. A thread that begins continues
// the state of one that has ended, so a process needs the memory of the threads that it has at once.
struct ThreadState : Recorder {
  struct DatatypeSize {
    MPI_Datatype datatype;
    std::uint64_t bytes;
  };
  static constexpr unsigned cached = 32;
  std::array<DatatypeSize, cached> datatype_sizes{};
  std::array<CachedUse, cached> communicator_uses{};
  KnownMemory known_memory;
  std::uint32_t handle_epoch = 0; // that the caches of handles belong to
  RequestTable::Recent recent_requests;
  HandleTable<std::uint64_t>::Recent recent_numbers; // of a trace
  // Of the completing call that is running: the original handles, the records that had to be read before the
  // call, and statuses for programs that ignore theirs.
  std::vector<MPI_Request> handles;
  std::vector<Request> taken;
  std::vector<Request *> known;
  std::vector<MPI_Status> statuses;
  std::vector<std::uint64_t> numbers; // of the requests in a trace
  std::uint64_t completing = 0;       // that of the one that is being completed
  std::size_t room = 0;               // in each of the five
  ThreadState *next_ended = nullptr;
  interpose::InnerCalls inner_calls;

  void make_room(std::size_t count) {
    if (__builtin_expect(room < count, 0)) grow(count * 2);
  }
  [[gnu::noinline, gnu::cold]] void grow(std::size_t count) {
    handles.resize(count);
    taken.resize(count);
    known.resize(count);
    statuses.resize(count);
    numbers.resize(count);
    room = count;
  }

  [[gnu::noinline, gnu::cold]] void forget_handles(std::uint32_t epoch) noexcept {
    datatype_sizes.fill({});
    known_memory.lowest.fill({});
    communicator_uses.fill({});
    forget_posts();
    handle_epoch = epoch;
  }
  [[gnu::noinline, gnu::cold]] void catch_up(std::uint32_t epoch) noexcept {
    const bool was_paused = (paused & static_cast<std::uint8_t>(Pause::program)) != 0;
    pause(*this, Pause::program, (epoch & paused_by_program) != 0);
    // The time counts of a region that began meanwhile, as its calls do.
    if (was_paused && paused == 0) resume_regions(*this, ticks());
    if ((epoch & ~paused_by_program) != (handle_epoch & ~paused_by_program))
      forget_handles(epoch);
    else
      handle_epoch = epoch;
  }
};

// `between`: all sessions are closed, there may be more. `aside`: nothing is recorded, but the other ranks
// count on this one in MPI_Finalize.
enum class Phase : std::uint8_t { before, running, between, aside, after };

// Process-wide state. Each call of a thread looks at the epoch, and nothing else that other threads change.
// It grows whenever a handle that a thread may have cached changes its meaning. Its lowest bit is the
// program's switch (MPI_Pcontrol).
struct Global {
  std::atomic<Phase> phase{Phase::before};
  std::atomic<std::uint32_t> handle_epoch{paused_by_program + 1};
  bool several_threads = false;  // MPI_THREAD_MULTIPLE
  unsigned sync_collectives = 0; // 0: the skew of collectives is not measured
  Arena arena;
  ProcessRecord *process = nullptr;
};
// No two live handles of a process are alike, whoever they belong to.
extern RequestTable pending_requests, matched_messages;

#if defined(HALOSCOPE_ABI_SIMGRID)
// The ranks of a simulation are contexts of one thread.
inline Global &global() noexcept { return own<Global>(); }
inline ThreadState *&this_thread() noexcept { return own<ThreadState *>(); }
#else
extern Global the_process;
inline Global &global() noexcept { return the_process; }

// Set from the first recorded call of a thread on; constant-initialised, so that access is one load.
extern __thread ThreadState *recording_thread __attribute__((tls_model("initial-exec")));
inline ThreadState *&this_thread() noexcept { return recording_thread; }
#endif

// A thread that has recorded has resolved.
[[gnu::always_inline]] inline void ensure_resolved() noexcept {
  if (__builtin_expect(this_thread() == nullptr, 0) &&
      !interpose::is_resolved.load(std::memory_order_acquire))
    resolve(__builtin_return_address(0));
}

// From now on, handles may have another meaning.
inline void change_handles() noexcept {
  global().handle_epoch.fetch_add(paused_by_program + 1, std::memory_order_release);
}
// Switches recording of all threads, each at its next call or region.
inline void switch_program(bool off) noexcept {
  if (off)
    global().handle_epoch.fetch_or(paused_by_program, std::memory_order_release);
  else
    global().handle_epoch.fetch_and(~paused_by_program, std::memory_order_release);
}

// The state of a thread that has none. nullptr where nothing is recorded, or there is no memory.
[[gnu::noinline, gnu::cold]] ThreadState *attach_thread() noexcept;
// The same for a call or a region, which counts as dropped if there is no memory.
[[gnu::noinline, gnu::cold]] ThreadState *attach_or_drop() noexcept;
// Threads that end now have left their records before.
void change_phase(Phase phase) noexcept;
// Does what other threads have asked for since the thread's last call.
[[gnu::always_inline]] inline void catch_up(ThreadState &state) noexcept {
  const std::uint32_t epoch = global().handle_epoch.load(std::memory_order_relaxed);
  if (__builtin_expect(state.handle_epoch != epoch, 0)) state.catch_up(epoch);
}

// A thread is in this call from now on.
[[gnu::always_inline]] inline void enter_call(ThreadState &state, Function function,
                                              const void *caller) noexcept {
  state.doing.call = static_cast<std::uint16_t>(static_cast<unsigned>(function) + 1);
  state.from = return_address(caller);
  if constexpr (keeps_current_call) state.doing.what = Doing::other;
}
[[gnu::always_inline]] inline void enter_call(ThreadState &state, const Invocation &invoked) noexcept {
  enter_call(state, invoked.function, invoked.caller);
  state.memory = invoked.memory;
  if (__builtin_expect(state.sites != nullptr, 0))
    state.site = find_site(state, invoked.function, invoked.caller);
}
inline void leave_call(ThreadState &state) noexcept { state.doing.call = 0; }
// Whether the call that the thread has entered is still active. If it was left by longjmp, the thread leaves
// it. `caller`: HALOSCOPE_CALLER of the call that asks.
[[gnu::noinline, gnu::cold]] bool is_still_inside(ThreadState &state, const void *caller) noexcept;
inline bool is_inside_call(ThreadState &state, const void *caller = nullptr) noexcept {
  return __builtin_expect(state.doing.call != 0, 0) && is_still_inside(state, caller);
}
// Between the two: what more is known of it.
[[gnu::always_inline]] inline void publish_message(ThreadState &state, Doing::What what,
                                                   const Invocation &invoked, std::uint32_t communicator,
                                                   std::uint64_t bytes) noexcept {
  if constexpr (!keeps_current_call) return;
  Doing &doing = state.doing;
  doing.partner = invoked.partner;
  doing.tag = invoked.tag;
  doing.communicator = communicator;
  doing.bytes = bytes;
  doing.what = what;
}

// One outermost MPI call of a thread; false if it is not to be recorded. Also undone by exceptions
// that error handlers throw through MPI.
class Entry {
public:
  explicit Entry(const Invocation &invoked) noexcept : state_(this_thread()) {
    if (__builtin_expect(state_ == nullptr, 0)) state_ = attach_or_drop();
    if (state_ == nullptr) return;
    if (is_inside_call(*state_, invoked.caller)) {
      state_ = nullptr;
      return;
    }
    enter_call(*state_, invoked);
    catch_up(*state_);
  }
  ~Entry() {
    if (state_ != nullptr) leave_call(*state_);
  }
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;

  explicit operator bool() const noexcept { return state_ != nullptr; }
  ThreadState &operator*() const noexcept { return *state_; }
  ThreadState *operator->() const noexcept { return state_; }

private:
  ThreadState *state_;
};

// Traces a call (noting.hpp).
[[gnu::always_inline]] inline void note_call(Recorder &state, Function function, std::uint64_t begin,
                                             std::uint64_t end, std::uint64_t bytes = 0) noexcept;

// Makes a timed call. If it succeeds, `count(state, ticks)` counts it and returns its bytes. `tell(state)`
// describes the call in the live record while it lasts.
template <class Call, class Count, class Tell>
int timed(const Invocation &invoked, Call &&call, Count &&count, Tell &&tell) {
  const Entry state{invoked};
  if (!state) return call();
  tell(*state);
  const std::uint64_t begin = state->begin_call();
  const int result = call();
  const std::uint64_t end = ticks();
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t bytes = count(*state, end - begin);
  note_call(*state, invoked, begin, end, bytes);
  note_time(*state, end);
  return result;
}

template <class Call, class Count> int timed(const Invocation &invoked, Call &&call, Count &&count) {
  return timed(invoked, call, count, [](const ThreadState &) {});
}

// Size of one element; 0 for MPI_DATATYPE_NULL, which is legal where the argument is insignificant.
[[gnu::noinline]] std::uint64_t ask_datatype_size(ThreadState &state, MPI_Datatype datatype) noexcept;
inline std::uint64_t datatype_size(ThreadState &state, MPI_Datatype datatype) noexcept {
  const std::uintptr_t value = value_of(datatype);
  const auto &entry = state.datatype_sizes[(value ^ value >> 8U) % ThreadState::cached];
  if (entry.datatype == datatype && entry.bytes != 0) return entry.bytes;
  return ask_datatype_size(state, datatype);
}

inline Communicator &communicator_of(const Request &request) noexcept {
  std::byte *place = global().arena.base() + request.communicator * communicator_alignment;
  return *reinterpret_cast<Communicator *>(place);
}

// The payload if the type's size is at hand.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t known_payload(const ThreadState &state, Count count,
                                                          MPI_Datatype datatype) noexcept {
  if (count <= 0) return 0;
  const std::uintptr_t value = value_of(datatype);
  const auto &entry = state.datatype_sizes[(value ^ value >> 8U) % ThreadState::cached];
  if (entry.datatype == datatype && entry.bytes != 0) return static_cast<std::uint64_t>(count) * entry.bytes;
  return unknown_bytes;
}

template <class Count>
std::uint64_t payload(ThreadState &state, Count count, MPI_Datatype datatype) noexcept {
  return count <= 0 ? 0 : static_cast<std::uint64_t>(count) * datatype_size(state, datatype);
}

} // namespace haloscope::watch
