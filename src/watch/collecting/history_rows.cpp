#include "watch/collecting/history_rows.hpp"

#include "watch/collecting/rows.hpp"
#include "watch/counting/slices.hpp"

#include <algorithm>

namespace haloscope::watch {

void HistoryRows::add_series(RegionTotals &region, const Node &node, std::uint64_t thread) {
  Table &instances = table(TableId::instances);
  const std::size_t before = instances.rows();
  each(node.instance_list, [&](std::uint64_t packed) { instances.add(rows::Instances{.packed = packed}); });
  if (const std::size_t count = instances.rows() - before; count > 0)
    append(rows::Series{
        .path = region.path, .rank = rank(), .thread = thread, .instance = region.begun, .instances = count});
  each(node.value_list, [&](const ValueRecord &record) {
    append(rows::Values{.path = region.path,
                        .rank = rank(),
                        .instance = region.begun + record.instance,
                        .name = string(text(record.name)),
                        .value = record.value});
  });
  region.begun += node.instance;
}

void HistoryRows::add_phases(const ThreadRecord &thread) {
  for (const PhaseRecord *phase = valid(thread.phases); phase != nullptr; phase = valid(phase->before)) {
    if (phase->iterations == 0) continue;
    const auto after = [&](std::uint64_t tick) {
      return seconds(tick - std::min(tick, process().first.tick));
    };
    append(rows::Phases{.rank = rank(),
                        .phase = phase->number,
                        .iterations = phase->iterations,
                        .found_after = std::min(phase->found_after, phase->iterations),
                        .length = phase->length,
                        .forms = phase->forms,
                        .calls = phase->calls,
                        .all_calls = phase->all_calls,
                        .start = after(phase->first),
                        .end = after(phase->last)});
  }
}

void HistoryRows::add_slices(const ThreadRecord &thread, const Slice &sums, std::uint64_t latest) {
  if (process().settings.slice <= 0) return;
  const Slices *slices = valid(thread.slices);
  const std::uint64_t doublings = most_doublings();
  const std::uint64_t length = process().slice_ticks.load() << doublings;
  const std::uint64_t count = slices == nullptr ? 0 : count_of(*slices);
  for (std::uint64_t i = 0; i < count; i++) {
    const Slice &slice = slices->slices[i];
    add_slice(slice, slice.place >> (doublings - std::min(doublings, slices->doublings)), length);
  }
  // All events after the last complete slice are one further slice.
  Slice totals = sums;
  add_off_cpu(totals, thread);
  Slice rest = slices == nullptr ? totals : difference(totals, sum_of(*slices));
  rest.begin = slices == nullptr ? process().first.tick : end_of(*slices);
  rest.end = latest;
  add_slice(rest, length == 0 ? 0 : (rest.begin - process().first.tick) / length, length);
}

// Threads with more slices than fit double the length of theirs. All threads of a process get the longest.
std::uint64_t HistoryRows::most_doublings() const {
  std::uint64_t most = 0;
  for (const ThreadRecord *thread = valid(process().threads.load()); thread != nullptr;
       thread = valid(thread->next))
    if (const Slices *slices = valid(thread->slices)) most = std::max(most, slices->doublings);
  return std::min<std::uint64_t>(most, 63);
}

void HistoryRows::add_slice(Slice slice, std::uint64_t number, std::uint64_t length) {
  // Two clocks: by a few ticks it may be longer than the slice.
  slice.off_cpu_ticks = std::min(slice.off_cpu_ticks, slice.end - std::min(slice.end, slice.begin));
  slice.core_wait_ticks = std::min(slice.core_wait_ticks, slice.off_cpu_ticks);
  if (is_empty(slice)) return;
  const double start = seconds(number * length);
  const double end = seconds(slice.end - std::min(slice.end, process().first.tick));
  append(rows::Slices{.rank = rank(),
                      .slice = number,
                      .start = start,
                      .duration = std::max(end - start, 0.0),
                      .sums = rows::sums(slice, tick())});
}

} // namespace haloscope::watch
