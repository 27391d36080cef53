#include "watch/counting/polling.hpp"

#include <algorithm>

namespace haloscope::watch {

namespace {

// Longest time between two polls that is polling: a usual poll, within limits. Otherwise the program works
// between them.
std::uint64_t longest_gap(Recorder &state) noexcept {
  if (state.polling.short_gap == 0) {
    const double ticks = shortest_poll_gap / seconds_per_tick(state.process->first, ClockPair::now());
    state.polling.short_gap = std::max<std::uint64_t>(static_cast<std::uint64_t>(ticks), 1);
  }
  const std::uint64_t gap = state.polling.short_gap;
  return std::clamp(state.polling.usual.ticks, gap, most_short_poll_gaps * gap);
}

// Adds the time since the poll before, if that is short and the thread did nothing else.
void add_gap(Recorder &state, std::uint64_t begin) noexcept {
  const Polling &polling = state.polling;
  if (polling.end == 0 || polling.node != state.node || polling.newest != state.record->newest ||
      polling.posts_left != state.stamps.left || begin < polling.end)
    return;
  const std::uint64_t gap = begin - polling.end;
  if (gap > longest_gap(state)) return;
  state.node->poll_ticks += gap;
  state.node->estimate.ticks[static_cast<unsigned>(Estimated::poll)] += gap * (polling.weight - 1);
}

} // namespace

void end_poll(ThreadState &state, Function function, std::uint64_t begin, bool found,
              std::uint64_t bytes) noexcept {
  const std::uint64_t end = ticks(), duration = end - begin;
  Polling &polling = state.polling;
  add_gap(state, begin);
  const unsigned weight = polling.next_weight();
  add_call_time(state, function, duration);
  (found ? state.node->p2p_ticks : state.node->poll_ticks) += duration;
  UsualDuration &usual = found ? polling.usual_found : polling.usual;
  const std::uint64_t others = usual.of_others(duration, weight - 1);
  if (others != 0) add_estimate(state, function, found ? Estimated::p2p : Estimated::poll, others);
  if (!found) state.node->estimate.gaps += weight * longest_gap(state);
  polling.end = found || !polling.is_stamped() ? 0 : end;
  polling.weight = weight;
  polling.node = state.node;
  polling.newest = state.record->newest;
  polling.posts_left = state.stamps.left;
  state.record->polled = end;
  note_call(state, function, begin, end, bytes);
  if (__builtin_expect(end >= state.deadline, 0)) pass_deadline(state, end);
}

} // namespace haloscope::watch
