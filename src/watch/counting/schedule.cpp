// Work at certain times, done at the next stamp that the thread takes anyway. It closes slices of time, so
// that a long run has a history without a trace. It switches recording on and off.
#include "watch/counting/answer.hpp"
#include "watch/counting/cpu_use.hpp"
#include "watch/counting/recording.hpp"
#include "watch/counting/slices.hpp"
#include "watch/gpu/device_memory.hpp"

namespace haloscope::watch {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

// Settles what a region's calls took that were not stamped.
void settle(Node &node, std::uint64_t now) noexcept {
  const std::uint64_t all = ticks_in(node, now);
  std::uint64_t nested = 0;
  for (const Node *child = node.first_child; child != nullptr; child = child->next_sibling)
    nested += ticks_in(*child, now);
  add_settled(node, node.estimate.settle(ticks_outside(node, all - std::min(all, nested))));
}

// Sums over all regions of a thread, up to `now`.
Slice totals_of(Node &root, std::uint64_t now) noexcept {
  Slice sum{};
  for (Node *node = &root; node != nullptr;) {
    settle(*node, now);
    add(sum, *node);
    if (node->first_child != nullptr) {
      node = node->first_child;
      continue;
    }
    while (node != &root && node->next_sibling == nullptr) node = node->parent;
    node = node == &root ? nullptr : node->next_sibling;
  }
  return sum;
}

// The length of a slice in ticks.
std::uint64_t length_of(const ProcessRecord &process, const Slices &slices) noexcept {
  return process.slice_ticks.load(std::memory_order_relaxed) << slices.doublings;
}

// Untouched memory costs nothing, so the array is not cleared.
Slices *make_slices(const Recorder &to) noexcept {
  auto *made =
      to.arena->allows_details() ? static_cast<Slices *>(to.arena->allocate(sizeof(Slices))) : nullptr;
  if (made == nullptr) to.dropped();
  return made;
}

// Joins pairs of slices into slices of twice the length, which frees half of the array. The old slices stay
// valid until the joined ones are complete. Returns false if there is no memory.
bool join_pairs(const Recorder &to) noexcept {
  Slices &full = *to.record->slices;
  if (full.spare == nullptr) full.spare = make_slices(to);
  if (full.spare == nullptr) return false;
  Slices &half = *full.spare;
  half.doublings = full.doublings + 1;
  half.begin = full.begin;
  half.count = 0;
  half.spare = &full;
  for (std::uint64_t i = 0; i < full.count; i++) {
    Slice slice = full.slices[i];
    slice.place /= 2;
    if (half.count > 0 && half.slices[half.count - 1].place == slice.place)
      half.slices[half.count - 1] = join_slices(half.slices[half.count - 1], slice);
    else
      half.slices[half.count++] = slice;
  }
  std::atomic_signal_fence(std::memory_order_release);
  to.record->slices = &half;
  return true;
}

// One row stays free for the events after the last complete slice.
bool make_room(const Recorder &to) noexcept {
  while (to.record->slices->count + 1 >= to.process->most_slices)
    if (!join_pairs(to)) return false;
  return true;
}

// Returns false if there is no room for it, and won't be.
bool close_slice(const Recorder &to, std::uint64_t now, double rate) noexcept {
  if (!make_room(to)) return false;
  const ProcessRecord &process = *to.process;
  Slices &slices = *to.record->slices;
  // The difference from all earlier slices. A send that is taken back later is missing in the next slice.
  Slice totals = totals_of(*to.record->root, now);
#if !defined(HALOSCOPE_ABI_SIMGRID)
  update_off_cpu(*to.record, now, rate);
  add_off_cpu(totals, *to.record);
#endif
  Slice slice = difference(totals, sum_of(slices));
  slice.begin = end_of(slices);
  slice.end = now;
  slice.place = (slice.begin - process.first.tick) / length_of(process, slices);
  // A joined slice may go on into this one's place.
  if (slices.count > 0 && slices.slices[slices.count - 1].place >= slice.place) {
    slices.slices[slices.count - 1] = join_slices(slices.slices[slices.count - 1], slice);
    return true;
  }
  slices.slices[slices.count] = slice;
  std::atomic_signal_fence(std::memory_order_release);
  slices.count++;
  return true;
}

bool start_slices(const Recorder &to, std::uint64_t now, double rate) noexcept {
  ProcessRecord &process = *to.process;
  std::uint64_t unknown = 0;
  const auto ticks = static_cast<std::uint64_t>(process.settings.slice / rate);
  process.slice_ticks.compare_exchange_strong(unknown, std::max<std::uint64_t>(ticks, 1));
  Slices *made = make_slices(to);
  if (made == nullptr) return false;
  made->begin = to.record->root->begin != 0 ? to.record->root->begin : now;
  std::atomic_signal_fence(std::memory_order_release);
  to.record->slices = made;
  return true;
}

// When the slice that is running is to be closed; closes it if that was before `now`.
std::uint64_t slice_up(const Recorder &to, std::uint64_t now, double rate) noexcept {
  const ProcessRecord &process = *to.process;
  if (to.record->slices == nullptr && !start_slices(to, now, rate)) return never;
  const auto next = [&] {
    const Slices &slices = *to.record->slices;
    const std::uint64_t length = length_of(process, slices);
    return process.first.tick + ((end_of(slices) - process.first.tick) / length + 1) * length;
  };
  if (now >= next() && !close_slice(to, now, rate)) return never;
  return next();
}

bool is_switched_off(const Recorder &to) noexcept {
  return (to.paused & static_cast<std::uint8_t>(Pause::schedule)) != 0;
}

// Regions that are open have an instance of their own in the time that counts.
void switch_recording(Recorder &to, std::uint64_t now, double rate, bool off) noexcept {
  if (off == is_switched_off(to)) return;
  if (off) {
    suspend_regions(to, now);
    if (to.record->slices != nullptr) close_slice(to, now, rate);
  } else {
    resume_regions(to, now);
  }
  pause(to, Pause::schedule, off);
}

// Returns when recording is to be switched next.
std::uint64_t follow_times(Recorder &to, std::uint64_t now, double rate) noexcept {
  const ProcessRecord &process = *to.process;
  const auto at = [&](double seconds) {
    return process.first.tick + static_cast<std::uint64_t>(seconds / rate);
  };
  const std::uint64_t from = at(process.settings.after);
  const double end = process.settings.until;
  const std::uint64_t until = end > 0 ? at(end) : never;
  switch_recording(to, now, rate, now < from || now >= until);
  return now < from ? from : now < until ? until : never;
}

} // namespace

void start_schedule(Recorder &to, std::uint64_t now) noexcept {
  const NumericSettings &settings = to.process->settings;
  const bool wanted = settings.after > 0 || settings.until > 0 || settings.slice > 0;
  to.deadline = wanted ? 0 : never;
  if (settings.after <= 0 && settings.until <= 0) return;
  if (settings.after > 0) { // the thread may begin after that
    pause(to, Pause::schedule, true);
    to.position->begin = to.position->instance = 0;
  }
  pass_deadline(to, now);
}

void pass_deadline(Recorder &to, std::uint64_t now) noexcept {
  const ProcessRecord &process = *to.process;
  const ClockPair pair = ClockPair::now();
  // The rate of the clock is known the better the later it is asked for.
  if (pair.nanosecond - process.first.nanosecond < 50'000'000) {
    to.deadline = now + (now - process.first.tick) / 2 + 1;
    return;
  }
#if !defined(HALOSCOPE_ABI_SIMGRID)
  check_answering(*to.process);
  look_for_gpu();
#endif
  const double rate = seconds_per_tick(process.first, pair);
  to.deadline = follow_times(to, now, rate);
  if (process.settings.slice > 0 && !is_switched_off(to))
    to.deadline = std::min(to.deadline, slice_up(to, now, rate));
}

} // namespace haloscope::watch
