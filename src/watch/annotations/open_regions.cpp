#include "watch/annotations/open_regions.hpp"

#include "watch/marking.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace haloscope::watch {

namespace {

struct Open {
  std::uint64_t kind = 0;
  const char *name = nullptr; // the recorder's copy, or one of our own as long as nothing records
  bool recorded = false, communication = false;
  bool ended = false; // but for what is open inside
};

// Deeper ones are counted only: they have no end of their own, and nobody nests so deep.
struct OpenRegions {
  std::array<Open, 126> list{};
  unsigned count = 0;      // in `list`
  unsigned too_deep = 0;   // begun when it was full
  unsigned generation = 0; // of recording, that `recorded` belongs to
};
__thread OpenRegions open_here __attribute__((tls_model("initial-exec")));
std::atomic<unsigned> generation{0};

const char *recorded_name(const ThreadState &state) noexcept { return state.position->name; }

void record(ThreadState &state, Open &open) noexcept {
  begin_region(state, open.name, open.communication);
  if (!open.recorded) std::free(const_cast<char *>(open.name));
  open.name = recorded_name(state);
  open.recorded = true;
}

// Regions that were open when recording started are entered late, each of them from then on.
[[gnu::noinline, gnu::cold]] void enter_late(ThreadState &state, OpenRegions &regions) noexcept {
  regions.generation = generation.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < regions.count; i++) record(state, regions.list[i]);
}

// Whether regions are worth keeping: recorded now, or as soon as recording starts.
inline bool is_kept() noexcept { return global().phase.load(std::memory_order_relaxed) < Phase::aside; }

inline ThreadState *recording(OpenRegions &regions) noexcept {
  ThreadState *state = marking_thread();
  if (state == nullptr) return nullptr;
  if (__builtin_expect(regions.generation != generation.load(std::memory_order_relaxed), 0))
    enter_late(*state, regions);
  return state;
}

void forget(Open &open) noexcept {
  if (!open.recorded) std::free(const_cast<char *>(open.name));
}

// Ends the region in this place and what is inside.
void close_from(OpenRegions &regions, ThreadState *state, unsigned place) noexcept {
  Open &open = regions.list[place];
  if (state != nullptr && open.recorded) end_region(*state, open.name);
  for (unsigned i = place; i < regions.count; i++) forget(regions.list[i]);
  regions.count = place;
  // The last one that is closed is outermost: few are open late, and no deeper than these.
  if (__builtin_expect(place > 0 && regions.list[place - 1].ended, 0)) close_from(regions, state, place - 1);
}

// False if there is none; that nothing is recorded is none of the program's faults.
bool close_if_open(std::uint64_t kind, const char *name) noexcept {
  if (__builtin_expect(!is_kept(), 0)) return true;
  OpenRegions &regions = open_here;
  ThreadState *state = recording(regions);
  if (__builtin_expect(regions.too_deep > 0, 0)) {
    regions.too_deep--;
    return true;
  }
  for (unsigned place = regions.count; place > 0; place--) {
    const Open &open = regions.list[place - 1];
    if (open.kind != kind || (name != nullptr && std::strcmp(open.name, name) != 0)) continue;
    close_from(regions, state, place - 1);
    return true;
  }
  return false;
}

} // namespace

void open_region(std::uint64_t kind, const char *name, bool communication) noexcept {
  if (__builtin_expect(!is_kept(), 0)) return;
  OpenRegions &regions = open_here;
  ThreadState *state = recording(regions);
  if (__builtin_expect(regions.count == regions.list.size(), 0)) {
    regions.too_deep++;
    return;
  }
  const char *kept = nullptr;
  if (__builtin_expect(state != nullptr, 1)) {
    begin_region(*state, name, communication);
    kept = recorded_name(*state);
  } else {
    kept = strdup(name);
    if (kept == nullptr) return;
  }
  regions.list[regions.count++] = {kind, kept, state != nullptr, communication};
}

void close_region(std::uint64_t kind, const char *name) noexcept {
  if (close_if_open(kind, name)) return;
  if (ThreadState *state = marking_thread()) state->record->unmatched_ends++;
}

void close_region_if_open(std::uint64_t kind) noexcept { (void)close_if_open(kind, nullptr); }

bool is_open(std::uint64_t kind) noexcept {
  const OpenRegions &regions = open_here;
  for (unsigned place = regions.count; place > 0; place--)
    if (regions.list[place - 1].kind == kind) return true;
  return false;
}

void close_region_late(std::uint64_t kind) noexcept {
  OpenRegions &regions = open_here;
  if (regions.count == 0 || regions.too_deep > 0 || regions.list[regions.count - 1].kind == kind)
    return close_region_if_open(kind);
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
  const OpenRegions &regions = open_here;
  if (!is_kept()) return nullptr;
  return regions.count == 0 ? nullptr : regions.list[regions.count - 1].name;
}

void enter_open_regions() noexcept {
  generation.fetch_add(1, std::memory_order_relaxed);
  recording(open_here);
}

void leave_open_regions() noexcept {
  const OpenRegions &regions = open_here;
  ThreadState *state = this_thread();
  if (state == nullptr || regions.generation != generation.load(std::memory_order_relaxed)) return;
  for (unsigned place = regions.count; place > 0; place--)
    if (regions.list[place - 1].recorded) end_region(*state, regions.list[place - 1].name);
}

} // namespace haloscope::watch
