#include "watch/counting/open_regions.hpp"

#include "watch/counting/marking.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace haloscope::watch {

namespace {

struct Open {
  std::uint64_t kind = 0;
  const char *name = nullptr; // the recorder's copy, or one of our own where it has none
  bool recorded = false, communication = false;
  bool lost = false;       // for want of memory: its end only has to be counted
  bool ended = false;      // but for what is open inside
  std::uint16_t depth = 0; // in the records; 0 where it is lost
};

// Deeper regions are only counted, without an end of their own. No known program nests so deep.
struct OpenRegions {
  std::array<Open, 126> list{};
  unsigned count = 0;      // in `list`
  unsigned too_deep = 0;   // begun when it was full
  unsigned generation = 0; // of recording, that `recorded` belongs to
};
#if defined(HALOSCOPE_ABI_SIMGRID) // whose ranks share a thread
OpenRegions &here() noexcept { return own<OpenRegions>(); }
std::atomic<unsigned> &recording() noexcept { return own<std::atomic<unsigned>>(); }
#else
__thread OpenRegions open_here __attribute__((tls_model("initial-exec")));
inline OpenRegions &here() noexcept { return open_here; }
constinit std::atomic<unsigned> generation{0}; // grows whenever recording starts
inline std::atomic<unsigned> &recording() noexcept { return generation; }
#endif

// Begins a region of that name in the records, and makes the entry for it.
[[gnu::always_inline]] inline void record(ThreadState &state, Open &open, const char *name) noexcept {
  begin_region(state, name, open.communication);
  open.lost = state.lost_regions > 0;
  open.name = __builtin_expect(open.lost, 0) ? strdup(name) : state.position->name;
  open.depth = open.lost ? 0 : state.position->depth;
  open.recorded = true;
}

void forget(Open &open) noexcept {
  if (!open.recorded || open.lost) std::free(const_cast<char *>(open.name));
}

// Lost regions are ended by number while there are any.
[[gnu::always_inline]] inline void end_in_records(ThreadState &state, const Open &open) noexcept {
  if (__builtin_expect(open.lost && state.lost_regions == 0, 0)) return;
  end_region(state, open.name);
}

// Regions that were open when recording started are entered late, each of them from then on.
[[gnu::noinline, gnu::cold]] void enter_late(ThreadState &state, OpenRegions &regions) noexcept {
  regions.generation = recording().load(std::memory_order_relaxed);
  for (unsigned i = 0; i < regions.count; i++) {
    Open before = regions.list[i];
    record(state, regions.list[i], before.name == nullptr ? "" : before.name);
    forget(before);
  }
}

// Whether regions are worth keeping: recorded now, or as soon as recording starts.
inline bool is_kept() noexcept { return global().phase.load(std::memory_order_relaxed) < Phase::aside; }

inline ThreadState *thread_for(OpenRegions &regions) noexcept {
  ThreadState *state = marking_thread();
  if (state == nullptr) return nullptr;
  if (__builtin_expect(regions.generation != recording().load(std::memory_order_relaxed), 0))
    enter_late(*state, regions);
  return state;
}

// Ends the region at this index and all regions inside it.
void close_from(OpenRegions &regions, ThreadState *state, unsigned place) noexcept {
  Open &open = regions.list[place];
  if (state != nullptr && open.recorded) {
    for (unsigned i = regions.count; __builtin_expect(state->lost_regions > 0, 0) && i > place + 1; i--)
      if (regions.list[i - 1].lost) end_in_records(*state, regions.list[i - 1]);
    end_in_records(*state, open);
  }
  for (unsigned i = place; i < regions.count; i++) forget(regions.list[i]);
  regions.count = place;
  // The last one that is closed is outermost: few are open late, and no deeper than these.
  if (__builtin_expect(place > 0 && regions.list[place - 1].ended, 0)) close_from(regions, state, place - 1);
}

// False if there is none; that nothing is recorded is none of the program's faults.
bool close_if_open(std::uint64_t kind, const char *name) noexcept {
  if (__builtin_expect(!is_kept(), 0)) return true;
  OpenRegions &regions = here();
  ThreadState *state = thread_for(regions);
  if (__builtin_expect(regions.too_deep > 0, 0)) {
    regions.too_deep--;
    return true;
  }
  for (unsigned place = regions.count; place > 0; place--) {
    const Open &open = regions.list[place - 1];
    if (open.kind != kind) continue;
    if (name != nullptr && (open.name == nullptr || std::strcmp(open.name, name) != 0)) continue;
    close_from(regions, state, place - 1);
    return true;
  }
  return false;
}

} // namespace

void open_region(std::uint64_t kind, const char *name, bool communication) noexcept {
  if (__builtin_expect(!is_kept(), 0)) return;
  OpenRegions &regions = here();
  ThreadState *state = thread_for(regions);
  if (__builtin_expect(regions.count == regions.list.size(), 0)) {
    regions.too_deep++;
    return;
  }
  Open &open = regions.list[regions.count];
  open = {.kind = kind, .communication = communication};
  if (__builtin_expect(state != nullptr, 1)) {
    record(*state, open, name);
  } else {
    open.name = strdup(name);
    if (open.name == nullptr) return;
  }
  regions.count++;
}

void close_region(std::uint64_t kind, const char *name) noexcept {
  if (close_if_open(kind, name)) return;
  if (ThreadState *state = marking_thread()) state->record->unmatched_ends++;
}

namespace {

// The records have no entry for the regions that were begun while recording: what they left is known by
// depth.
[[gnu::noinline, gnu::cold]] void close_among_others(const char *name) noexcept {
  OpenRegions &regions = here();
  ThreadState *state = thread_for(regions);
  if (state == nullptr) {
    (void)close_if_open(own_marker, name);
    return;
  }
  end_region(*state, name);
  for (unsigned place = 0; place < regions.count; place++) {
    const Open &open = regions.list[place];
    if (open.kind != own_marker || !open.recorded || state->position->depth >= open.depth) continue;
    for (unsigned i = place; i < regions.count; i++) forget(regions.list[i]);
    regions.count = place;
  }
}

} // namespace

void begin_marked(const char *name, bool communication) noexcept {
  OpenRegions &regions = here();
  ThreadState *state = marking_thread();
  if (__builtin_expect(regions.count > 0, 0)) state = thread_for(regions);
  if (__builtin_expect(state != nullptr, 1))
    begin_region(*state, name, communication);
  else
    open_region(own_marker, name, communication);
}

void end_marked(const char *name) noexcept {
  ThreadState *state = marking_thread();
  if (__builtin_expect(state != nullptr && here().count == 0, 1))
    end_region(*state, name);
  else
    close_among_others(name);
}

void close_region_if_open(std::uint64_t kind) noexcept { (void)close_if_open(kind, nullptr); }

bool is_open(std::uint64_t kind) noexcept {
  const OpenRegions &regions = here();
  for (unsigned place = regions.count; place > 0; place--)
    if (regions.list[place - 1].kind == kind) return true;
  return false;
}

void close_region_late(std::uint64_t kind) noexcept {
  OpenRegions &regions = here();
  if (regions.count == 0 || regions.too_deep > 0 || regions.list[regions.count - 1].kind == kind) {
    close_region_if_open(kind);
    return;
  }
  for (unsigned place = regions.count; place > 0; place--) {
    if (regions.list[place - 1].kind != kind) continue;
    regions.list[place - 1].ended = true;
    return;
  }
}

void give_value(const char *name, double value) noexcept {
  if (ThreadState *state = marking_thread()) record_value(*state, name, value);
}

const char *innermost_region() noexcept {
  const OpenRegions &regions = here();
  if (!is_kept()) return nullptr;
  return regions.count == 0 ? nullptr : regions.list[regions.count - 1].name;
}

void enter_open_regions() noexcept {
  recording().fetch_add(1, std::memory_order_relaxed);
  thread_for(here());
}

} // namespace haloscope::watch
