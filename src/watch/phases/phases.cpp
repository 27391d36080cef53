#include "watch/phases/phases.hpp"

#include "watch/phases/phase_count.hpp"
#include "watch/phases/phase_view.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string_view>
#include <utility>

namespace haloscope::watch {

namespace {

// The functions that are observed. The number of calls of the others depends on time.
constexpr auto is_looked_at = functions_that(
    [](std::string_view name) { return !is_named(name, {"MPI_Waitsome", "MPI_Probe", "MPI_Mprobe"}); });
// Evidence that is needed before a phase gets regions: more than the search asks for, as the program may only
// be about to begin.
constexpr std::size_t sure_repeats = 8, sure_calls = 64;
// A few messages that repeat are often a part of a longer iteration.
constexpr std::size_t short_length = 8, sure_short_calls = 256;
// Searching takes at most this part of the time.
constexpr std::uint64_t share_of_time = 64;

constexpr const char *iteration_name = "iteration";
std::array<char, 24> phase_name(std::uint64_t number) noexcept {
  std::array<char, 24> name{};
  std::snprintf(name.data(), name.size(), "phase %llu", static_cast<unsigned long long>(number));
  return name;
}

// The program's sums continue across the regions of phases: these are not its own.
class OwnRegions {
public:
  explicit OwnRegions(Recorder &to) noexcept : to_(to), phases_(std::exchange(to.phases, nullptr)) { add(1); }
  ~OwnRegions() {
    add(-1);
    to_.phases = phases_;
  }
  OwnRegions(const OwnRegions &) = delete;
  OwnRegions &operator=(const OwnRegions &) = delete;

private:
  void add(std::int64_t sign) noexcept {
    const auto times = static_cast<std::uint64_t>(sign);
    phases_->sends += times * to_.node->now[sends];
    phases_->bytes += times * (to_.node->now[bytes_sent] + to_.node->coll_bytes);
    phases_->collective_bytes += times * to_.node->coll_bytes;
  }
  Recorder &to_;
  Phases *phases_;
};

void leave_iteration(Recorder &to) noexcept {
  Phases &phases = *to.phases;
  if (!phases.is_inside) return;
  const OwnRegions own{to};
  phases.markers.end(to, iteration_name);
  phases.is_inside = false;
}

void enter_iteration(Recorder &to) noexcept {
  Phases &phases = *to.phases;
  const OwnRegions own{to};
  phases.markers.begin(to, iteration_name, false);
  phases.is_inside = true;
}

void leave_phase(Recorder &to) noexcept {
  leave_iteration(to);
  Phases &phases = *to.phases;
  if (!phases.is_followed) return;
  const OwnRegions own{to};
  phases.markers.end(to, phase_name(phases.record->number).data());
  phases.is_followed = false;
}

void enter_phase(Recorder &to) noexcept {
  Phases &phases = *to.phases;
  const OwnRegions own{to};
  phases.markers.begin(to, phase_name(phases.record->number).data(), false);
  phases.is_followed = true;
}

// The part of the time in which the thread was seen that searches may take.
bool may_search(const Phases &phases, std::uint64_t now) noexcept {
  const std::uint64_t count = std::min<std::uint64_t>(phases.calls, Phases::remembered);
  const std::uint64_t next = phases.ticks_a_call * count; // it takes as long as the one before
  return phases.calls <= 512 || (phases.searched + next) * share_of_time < now - phases.started.tick;
}

void wait_for_more(Phases &phases) noexcept {
  const std::uint64_t since = phases.calls - phases.end;
  phases.pause = phases.calls + std::max<std::uint64_t>(16, std::min<std::uint64_t>(since / 2, 1U << 16U));
}

// Whether its regions cost little of its time.
bool is_long(const Phases &phases, const FoundPhase &found) {
  constexpr std::uint64_t least_nanoseconds = 10'000;
  const ClockPair now = ClockPair::now();
  const ClockPair &first = phases.started;
  const auto &ends = found.pattern.ends;
  const auto &seen = found.pattern.seen;
  const std::uint64_t duration = seen[ends.back()].tick - seen[ends.front()].tick;
  return static_cast<double>(duration) * seconds_per_tick(first, now) * 1e9 >=
         static_cast<double>(least_nanoseconds * (ends.size() - 1));
}

bool is_sure(const Phases &phases, const FoundPhase &found) {
  const Pattern &pattern = found.pattern;
  const bool is_short = !pattern.is_together && pattern.forms.front().length < short_length;
  if (is_short && pattern.covered < sure_short_calls) return false;
  return pattern.repeats >= sure_repeats &&
         (pattern.covered >= sure_calls || pattern.repeats >= 2 * sure_repeats) && is_long(phases, found) &&
         phases.calls - found.last_end() <=
             2 * found.typical_calls() + (pattern.view == View::collectives ? sure_calls * 16 : 16);
}

void search(Recorder &to, Phases &phases, std::uint64_t now) {
  wait_for_more(phases);
  if (!may_search(phases, now)) return;
  const std::vector<Seen> calls = seen_calls(phases);
  auto pattern = find_pattern(calls);
  const std::uint64_t taken = ticks() - now;
  phases.searched += taken;
  phases.ticks_a_call = taken / calls.size();
  if (!pattern) return;
  const FoundPhase found{std::move(*pattern), phases.calls - calls.size()};
  if (!is_sure(phases, found) || !take(to, phases, found, false)) return;
  follow(phases);
  enter_phase(to);
}

void count_end(Phases &phases, std::uint64_t end) noexcept {
  phases.record->iterations++;
  phases.ring[(end - 1) % Phases::remembered].counts = 1;
  note_end(phases, end);
}

void end_iteration(Recorder &to, Phases &phases) noexcept {
  count_end(phases, phases.calls - (phases.is_late ? 1 : 0));
  phases.functions = 0;
  phases.pause = latest_end(phases);
  leave_iteration(to);
  enter_iteration(to);
}

bool is_typical_at(const Phases &phases, std::uint64_t begin) noexcept {
  for (std::size_t i = 0; i < phases.typical.size(); i++)
    if (symbol_of(phases.ring[(begin + i) % Phases::remembered]) != phases.typical[i]) return false;
  return true;
}

// The end of the first typical iteration after something unknown; 0 if there is none. It is certain only
// where an iteration is not like itself from another call on.
std::uint64_t next_typical_end(const Phases &phases) noexcept {
  const std::size_t length = phases.typical.size();
  if (phases.view != View::calls || phases.is_self_similar || phases.calls - phases.end >= Phases::remembered)
    return 0;
  for (std::uint64_t begin = phases.end; begin + length <= phases.calls; begin++)
    if (is_typical_at(phases, begin)) return begin + length;
  return 0;
}

void add_form_of(Phases &phases, std::uint64_t begin, std::uint64_t end) noexcept {
  std::uint64_t functions = 0;
  for (std::uint64_t i = begin; i < end; i++)
    functions = functions * stretch_factor + stretch_weight(symbol_of(phases.ring[i % Phases::remembered]));
  add_form(phases, functions, end - begin);
}

// Learns the unknown calls as a form of the iteration. Returns false if they are more than that.
bool go_on(Phases &phases) noexcept {
  // If new forms come all the time, a different view recognises more.
  constexpr std::uint64_t few = 4, part = 8;
  if (phases.guessed >= few && part * phases.guessed > phases.record->iterations - phases.known_after)
    return false;
  const std::uint64_t end = next_typical_end(phases);
  if (end == 0) return false;
  phases.guessed++;
  add_form_of(phases, phases.end, end);
  count_end(phases, end);
  std::uint64_t functions = 0;
  for (std::uint64_t i = phases.end; i < phases.calls; i++) {
    functions = functions * stretch_factor + stretch_weight(symbol_of(phases.ring[i % Phases::remembered]));
    if (phases.forms[Phases::place_of(functions)] != functions) continue;
    count_end(phases, i + 1);
    functions = 0;
  }
  follow(phases);
  return true;
}

void lose(Recorder &to, Phases &phases) noexcept {
  leave_phase(to);
  phases.functions = 0;
}

void forget(Recorder &to) noexcept { delete std::exchange(to.phases, nullptr); }

} // namespace

void start_phases(Recorder &to, RegionMarkers markers) noexcept {
  to.phases = new (std::nothrow) Phases;
  if (to.phases == nullptr) return;
  to.phases->started = ClockPair::now();
  to.phases->markers = markers;
}

namespace {

[[gnu::noinline, gnu::cold]] void pause_at_call(Recorder &to, std::uint64_t now) noexcept try {
  Phases &phases = *to.phases;
  if (phases.is_followed && phases.functions != 0 &&
      phases.forms[Phases::place_of(phases.functions)] == phases.functions) {
    end_iteration(to, phases);
    return;
  }
  if (phases.calls != phases.pause) return;
  if (phases.is_followed) {
    if (go_on(phases)) return;
    lose(to, phases);
  }
  search(to, phases, now);
} catch (const std::bad_alloc &) {
  to.dropped();
  give_up_phases(to);
}

} // namespace

void observe_call(Recorder &to, std::uint64_t now) noexcept {
  Phases &phases = *to.phases;
  const Doing &doing = to.doing;
  const bool any = doing.what == Doing::receive && doing.partner < 0; // whoever comes first
  if (!is_looked_at[doing.call] || any) return;
  const bool has_partner = doing.what != Doing::requests && doing.what != Doing::other;
  const std::uint64_t collective_bytes = phases.collective_bytes + to.node->coll_bytes;
  Phases::Call &call = phases.ring[phases.calls % Phases::remembered];
  call = {doing.call,
          static_cast<std::uint16_t>(phases.sends + to.node->now[sends]),
          has_partner ? doing.partner : 0,
          phases.bytes + to.node->now[bytes_sent] + to.node->coll_bytes,
          doing.what == Doing::requests     ? doing.count
          : doing.what == Doing::collective ? is_a_collective | static_cast<std::uint32_t>(collective_bytes)
                                            : 0,
          0,
          now,
          to.from};
  phases.calls++;
  if (__builtin_expect(phases.view == View::calls, 1))
    phases.functions = phases.functions * stretch_factor + stretch_weight(symbol_of(call));
  else
    look_at_newest(phases);
  if (__builtin_expect(phases.forms[Phases::place_of(phases.functions)] == phases.functions ||
                           phases.calls == phases.pause,
                       0))
    pause_at_call(to, now);
}

void give_up_phases(Recorder &to) noexcept {
  leave_phase(to);
  forget(to);
}

void finish_phases(Recorder &to) noexcept try {
  if (to.phases == nullptr) return;
  Phases &phases = *to.phases;
  const bool is_certain = phases.is_followed && phases.view != View::calls;
  leave_phase(to);
  const std::vector<Seen> calls = seen_calls(phases);
  if (auto pattern = find_pattern(calls)) {
    const FoundPhase found{std::move(*pattern), phases.calls - calls.size()};
    // The search over all calls knows more than the search over the first ones.
    if (phases.record == nullptr || found.offset == 0 || is_same_phase(phases, found) ||
        (!is_certain && found.last_end() > phases.end))
      take(to, phases, found, true);
  }
  for (PhaseRecord *record = to.record->phases; record != nullptr; record = record->before)
    record->all_calls = phases.calls;
  forget(to);
} catch (const std::bad_alloc &) {
  to.dropped();
  give_up_phases(to);
}

} // namespace haloscope::watch
