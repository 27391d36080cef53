// NCCL's profiler plugin, version 5 of the interface, which RCCL has, too. NCCL opens the library that
// NCCL_PROFILER_PLUGIN names, which is the recorder, and looks for `ncclProfiler_v5` there. The thread that
// calls NCCL reports collectives and messages when it enqueues them. A thread of NCCL reports when a channel
// of their kernel begins and ends.
//
// Nothing is allocated, and no thread waits. A running operation has an entry in a ring, which is reused
// after one turn.
#include "watch/annotations/interfaces.hpp"
#include "watch/counting/state.hpp"
#include "watch/records/clock.hpp"
#include "watch/records/nccl_record.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace haloscope::watch {

namespace {

// Kinds of events, as bits.
enum EventKind : std::uint64_t {
  collective_event = 1U << 1U,
  message_event = 1U << 2U,
  channel_event = 1U << 6U
};

// The arguments of an event's begin. Each kind has its own member of the union.
struct Event {
  std::uint64_t kind;
  void *parent; // what `start` gave for the collective that a channel belongs to
  int rank;
  union {
    struct {
      std::uint64_t number;
      const char *function;
      const void *from;
      void *to;
      std::size_t count;
      int root;
      const char *datatype;
      std::uint8_t channels, warps;
      const char *algorithm, *protocol;
      void *group;
    } collective;
    struct {
      const char *function;
      void *buffer;
      const char *datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void *group;
    } message;
  };
};

constexpr int success = 0; // ncclSuccess

std::uint64_t size_of_datatype(std::string_view name) noexcept {
  if (name.ends_with("64")) return 8;
  if (name.ends_with("32") || name == "ncclInt" || name == "ncclFloat") return 4;
  if (name.ends_with("16") || name == "ncclHalf") return 2;
  if (name == "ncclDouble") return 8;
  return 1; // 8 bits, in its ways
}

void put(NcclRecord::Text &to, const char *prefix, const char *text) noexcept {
  to.fill('\0');
  std::strncat(to.data(), prefix, to.size() - 1);
  if (text != nullptr) std::strncat(to.data(), text, to.size() - 1 - std::strlen(to.data()));
}

// Where such a thing counts; nullptr if there is no room.
NcclRecord *record_of(Recorder &to, const NcclRecord::Key &key) noexcept {
  constexpr unsigned most = 512; // different ones of a region
  std::atomic_ref<NcclRecord *> first{to.node->nccl};
  unsigned found = 0;
  for (NcclRecord *record = first.load(std::memory_order_acquire); record != nullptr; record = record->next) {
    if (record->key == key) return record;
    found++;
  }
  auto *made = found < most ? to.arena->make<NcclRecord>() : nullptr;
  if (made == nullptr) {
    to.dropped();
    return nullptr;
  }
  made->key = key;
  made->next = first.load(std::memory_order_acquire);
  while (!first.compare_exchange_weak(made->next, made, std::memory_order_release)) {
  }
  return made;
}

// One that is running. `parts`: its enqueueing, and the channels of its kernel that have not ended.
struct Running {
  std::atomic<std::uint32_t> turn{0};
  std::atomic<NcclRecord *> record{nullptr};
  std::atomic<std::uint64_t> begin{0};
  std::atomic<int> parts{0};
};
constexpr std::uint32_t room = 4096;
std::array<Running, room> running;
std::atomic<std::uint32_t> begun{0};

bool is_recording() noexcept { return global().phase.load(std::memory_order_acquire) == Phase::running; }

// A handle: the turn, which is never 0, and whether it is a channel's.
void *handle_of(std::uint32_t turn, bool channel) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): NCCL hands it back, and looks at nothing in it
  return reinterpret_cast<void *>(static_cast<std::uintptr_t>(turn) << 1U | (channel ? 1U : 0U));
}
Running *running_of(void *handle) noexcept {
  const auto turn = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle) >> 1U);
  Running &place = running[turn % room];
  return turn != 0 && place.turn.load(std::memory_order_acquire) == turn ? &place : nullptr;
}

void end_part(Running &of) noexcept {
  if (of.parts.fetch_sub(1, std::memory_order_acq_rel) != 1 || !is_recording()) return;
  NcclRecord *record = of.record.load(std::memory_order_relaxed);
  if (record == nullptr) return;
  const std::uint64_t duration = ticks() - of.begin.load(std::memory_order_relaxed);
  record->ticks.fetch_add(duration, std::memory_order_relaxed);
  std::uint64_t longest = record->longest.load(std::memory_order_relaxed);
  while (longest < duration && !record->longest.compare_exchange_weak(longest, duration)) {
  }
}

NcclRecord::Key key_of(const Event &event, std::uint64_t ranks) noexcept {
  NcclRecord::Key key{};
  key.size = ranks;
  if (event.kind == collective_event) {
    const auto &of = event.collective;
    put(key.operation, "nccl", of.function);
    put(key.algorithm, "", of.algorithm);
    put(key.protocol, "", of.protocol);
    key.channels = of.channels;
    key.bytes = of.count * size_of_datatype(of.datatype == nullptr ? "" : of.datatype);
    // The count is that of what a rank gets; it sends as much for each.
    if (of.function != nullptr && std::string_view{of.function} == "ReduceScatter") key.bytes *= ranks;
  } else {
    const auto &of = event.message;
    put(key.operation, "nccl", of.function);
    key.channels = of.channels;
    key.bytes = of.count * size_of_datatype(of.datatype == nullptr ? "" : of.datatype);
  }
  return key;
}

void *begin(const Event &event, std::uint64_t ranks) noexcept {
  ThreadState *state = this_thread() != nullptr ? this_thread() : attach_thread();
  if (state == nullptr) return nullptr;
  const NcclRecord::Key key = key_of(event, ranks);
  NcclRecord *record = record_of(*state, key);
  if (record == nullptr) return nullptr;
  record->calls.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t turn = begun.fetch_add(1, std::memory_order_relaxed) + 1;
  if (turn == 0) turn = begun.fetch_add(1, std::memory_order_relaxed) + 1;
  Running &place = running[turn % room];
  place.turn.store(0, std::memory_order_release);
  place.record.store(record, std::memory_order_relaxed);
  place.begin.store(ticks(), std::memory_order_relaxed);
  place.parts.store(1 + static_cast<int>(key.channels), std::memory_order_relaxed);
  place.turn.store(turn, std::memory_order_release);
  return handle_of(turn, false);
}

// The context of a communicator is how many ranks it has: nothing is to be freed.
int plugin_init(void **context, std::uint64_t /*communicator*/, int *wanted, const char * /*name*/,
                int /*nodes*/, int ranks, int /*rank*/, void * /*logger*/) noexcept {
  if (context == nullptr || wanted == nullptr) return success;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  *context = reinterpret_cast<void *>(static_cast<std::uintptr_t>(std::max(ranks, 1)));
  const bool is = is_wanted(Interface::nccl);
  if (is) note_use(Interface::nccl);
  *wanted = is ? static_cast<int>(collective_event | message_event | channel_event) : 0;
  return success;
}
int plugin_start(void *context, void **handle, Event *event) noexcept {
  if (handle == nullptr || event == nullptr) return success;
  *handle = nullptr;
  if (!is_recording()) return success;
  if (event->kind == collective_event || event->kind == message_event)
    *handle = begin(*event, reinterpret_cast<std::uintptr_t>(context));
  else if (event->kind == channel_event && running_of(event->parent) != nullptr)
    *handle =
        handle_of(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event->parent) >> 1U), true);
  return success;
}
int plugin_stop(void *handle) noexcept {
  if (Running *of = running_of(handle)) end_part(*of);
  return success;
}
int plugin_state(void * /*handle*/, int /*state*/, void * /*arguments*/) noexcept { return success; }
int plugin_end(void * /*context*/) noexcept { return success; }

} // namespace

} // namespace haloscope::watch

using namespace haloscope::watch;

// NCCL's layout.
// NOLINTNEXTLINE(misc-use-internal-linkage): the type of what is exported
struct HaloscopeNcclProfiler {
  const char *name;
  int (*init)(void **, std::uint64_t, int *, const char *, int, int, int, void *) noexcept;
  int (*start)(void *, void **, Event *) noexcept;
  int (*stop)(void *) noexcept;
  int (*state)(void *, int, void *) noexcept;
  int (*end)(void *) noexcept;
};
extern "C" __attribute__((visibility("default"))) const HaloscopeNcclProfiler ncclProfiler_v5;
extern "C" const HaloscopeNcclProfiler ncclProfiler_v5{"haloscope", plugin_init,  plugin_start,
                                                       plugin_stop, plugin_state, plugin_end};
