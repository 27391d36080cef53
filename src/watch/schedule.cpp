// What a thread does by the clock, at the next stamp that it takes anyway: it closes slices of time, so
// that a long run has a history without a trace, and switches recording on and off.
#include "recording.hpp"
#include "slices.hpp"

namespace haloscope::watch {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

// Of all regions of a thread.
Slice totals_of(const Node &root) noexcept {
  Slice sum{};
  for (const Node *node = &root; node != nullptr;) {
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

// The end of the last slice.
std::uint64_t end_of(const ProcessRecord &process, const Slices &slices) noexcept {
  return slices.count == 0 ? process.first.tick : slices.slices[slices.count - 1].end;
}

// Two neighbours become one: there is room again, for slices of twice the length.
void merge_pairs(Slices &slices) noexcept {
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < slices.count; i++) {
    Slice slice = slices.slices[i];
    slice.place /= 2;
    if (kept > 0 && slices.slices[kept - 1].place == slice.place)
      slices.slices[kept - 1] = joined(slices.slices[kept - 1], slice);
    else
      slices.slices[kept++] = slice;
  }
  slices.count = kept;
  slices.length *= 2;
}

void close_slice(const Recorder &to, Slices &slices, std::uint64_t now) noexcept {
  const ProcessRecord &process = *to.process;
  while (slices.count >= std::clamp(process.most_slices, 2U, Slices::most)) merge_pairs(slices);
  const Slice totals = totals_of(*to.record->root);
  Slice slice = difference(totals, slices.before);
  slice.begin = end_of(process, slices);
  slice.end = now;
  slice.place = (slice.begin - process.first.tick) / slices.length;
  slices.before = totals;
  // A merged slice may go on into this one's place.
  if (slices.count > 0 && slices.slices[slices.count - 1].place >= slice.place) {
    slices.slices[slices.count - 1] = joined(slices.slices[slices.count - 1], slice);
    return;
  }
  slices.slices[slices.count] = slice;
  std::atomic_signal_fence(std::memory_order_release);
  slices.count++;
}

// When the slice that is running is to be closed; closes it if that was before `now`.
std::uint64_t slice_up(Recorder &to, std::uint64_t now, double rate) noexcept {
  const ProcessRecord &process = *to.process;
  Slices *&slices = to.record->slices;
  if (slices == nullptr) {
    auto *made = to.arena->make<Slices>();
    if (made == nullptr) {
      to.dropped();
      return never;
    }
    made->length = static_cast<std::uint64_t>(process.slice_seconds / rate);
    slices = made;
  }
  const auto next = [&] {
    const std::uint64_t since = end_of(process, *slices) - process.first.tick;
    return process.first.tick + (since / slices->length + 1) * slices->length;
  };
  if (now >= next()) close_slice(to, *slices, now);
  return next();
}

// When recording is to be switched next.
std::uint64_t switch_recording(Recorder &to, std::uint64_t now, double rate) noexcept {
  const ProcessRecord &process = *to.process;
  const auto at = [&](double seconds) {
    return process.first.tick + static_cast<std::uint64_t>(seconds / rate);
  };
  const std::uint64_t from = at(process.record_from);
  const std::uint64_t until = process.record_until > 0 ? at(process.record_until) : never;
  pause(to, Pause::schedule, now < from || now >= until);
  return now < from ? from : now < until ? until : never;
}

} // namespace

void start_schedule(Recorder &to) noexcept {
  const ProcessRecord &process = *to.process;
  if (process.record_from > 0) pause(to, Pause::schedule, true);
  const bool wanted = process.record_from > 0 || process.record_until > 0 || process.slice_seconds > 0;
  to.deadline = wanted ? 0 : never;
}

void pass_deadline(Recorder &to, std::uint64_t now) noexcept {
  const ProcessRecord &process = *to.process;
  const ClockPair pair = ClockPair::now();
  // The rate of the clock is known the better the later it is asked for.
  if (pair.nanosecond - process.first.nanosecond < 50'000'000) {
    to.deadline = now + (now - process.first.tick) / 2 + 1;
    return;
  }
  const double rate = seconds_per_tick(process.first, pair);
  to.deadline = switch_recording(to, now, rate);
  if (process.slice_seconds > 0) to.deadline = std::min(to.deadline, slice_up(to, now, rate));
}

} // namespace haloscope::watch
