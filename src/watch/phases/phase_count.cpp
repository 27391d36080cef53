#include "watch/phases/phase_count.hpp"

#include <algorithm>

namespace haloscope::watch {

void note_end(Phases &phases, std::uint64_t end) noexcept {
  const Phases::Call &call = phases.ring[(end - 1) % Phases::remembered];
  phases.end = end;
  phases.record->calls = end - phases.record->first_call;
  phases.record->last = call.tick;
}

// Of two forms in one place, the first stays: it is more frequent.
void add_form(Phases &phases, std::uint64_t functions, std::size_t length) noexcept {
  std::uint64_t &place = phases.forms[Phases::place_of(functions)];
  if (place == 0) place = functions;
  phases.longest = std::max(phases.longest, length);
}

namespace {

PhaseRecord *make_record(Recorder &to, Phases &phases, std::uint64_t first_call) noexcept {
  auto *made = to.arena->make<PhaseRecord>();
  if (made == nullptr) {
    to.dropped();
    return nullptr;
  }
  // Phases that are parts of the new one are dropped. It gets their number.
  made->number = 1;
  for (PhaseRecord *former = phases.record; former != nullptr; former = former->before) {
    if (2 * former->first_call + former->calls >= 2 * first_call) {
      former->iterations = 0;
    } else if (former->iterations > 0) {
      made->number = former->number + 1;
      break;
    }
  }
  made->before = phases.record;
  std::atomic_signal_fence(std::memory_order_release);
  to.record->phases = made;
  return made;
}

// Whether the forms are equal up to a rotation.
bool is_turned(const std::vector<std::uint16_t> &one, const std::vector<std::uint16_t> &other) {
  if (one.size() != other.size()) return false;
  std::vector<std::uint16_t> twice = other;
  twice.insert(twice.end(), other.begin(), other.end());
  return !std::ranges::search(twice, one).empty();
}

bool is_self_similar(const std::vector<std::uint16_t> &typical) {
  std::vector<std::uint16_t> inner{typical.begin() + 1, typical.end()};
  inner.insert(inner.end(), typical.begin(), typical.end() - 1);
  return !std::ranges::search(inner, typical).empty();
}

void learn_forms(Phases &phases, const FoundPhase &found) {
  for (const Form &form : found.pattern.forms) {
    add_form(phases, form.functions, form.length);
  }
}

// Counts the iterations in the ring again: with more known forms, the result is more exact.
class Count {
public:
  Count(Phases &phases, const FoundPhase &found) : phases_(phases), found_(found), goes_on_(is_older()) {
    // Iterations that ended before the first complete one stay counted.
    const View view = found.pattern.view;
    const bool is_exact = view == View::collectives || view == View::functions;
    for (std::uint64_t i = is_exact ? found.end(0) - 1 : found.offset; i < phases.calls; i++) {
      std::uint32_t &counts = phases.ring[i % Phases::remembered].counts;
      phases.record->iterations -= std::min<std::uint64_t>(counts, phases.record->iterations);
      counts = 0;
    }
  }

  void run(bool is_over) {
    const auto &ends = found_.pattern.ends;
    for (std::size_t i = 0; i < ends.size();) {
      std::size_t last = i;
      while (last + 1 < ends.size() && is_near(ends[last], ends[last + 1])) last++;
      add_stretch(i, last, is_over || last + 1 < ends.size());
      i = last + 1;
    }
    note_end(phases_, found_.last_end());
  }

private:
  // Whether two ends are of one stretch. Of visits, all are.
  bool is_near(std::size_t end, std::size_t next) const {
    return found_.pattern.view == View::functions || next - end <= 16 * phases_.typical.size() + 64;
  }
  bool is_older() const { return phases_.record->first_call < found_.offset; }

  // The first call of an iteration is not known exactly. Calls before the stretch and calls behind it may
  // together be one further iteration.
  void add_stretch(std::size_t first, std::size_t last, bool is_over) {
    for (std::size_t i = first + 1; i <= last; i++) add(i, 1);
    const std::size_t length = phases_.typical.size();
    const bool is_known = first == 0 && goes_on_; // an iteration began before the ring does
    phases_.before = is_known ? length : found_.calls_before(first, phases_.typical);
    // Without its collectives, much is like the begin of an iteration.
    const bool is_complete = is_over && found_.pattern.view != View::exchanges;
    const std::size_t behind = is_complete ? found_.calls_behind(last, phases_.typical) : 0;
    add(first, (phases_.before + behind) / length);
    phases_.before = is_over ? 0 : phases_.before % length;
  }
  void add(std::size_t i, std::size_t iterations) {
    phases_.ring[(found_.end(i) - 1) % Phases::remembered].counts += static_cast<std::uint32_t>(iterations);
    phases_.record->iterations += iterations;
  }

  Phases &phases_;
  const FoundPhase &found_;
  bool goes_on_;
};

bool start_phase(Recorder &to, Phases &phases, const FoundPhase &found) {
  phases.typical = found.typical();
  const std::size_t before = found.calls_before(0, phases.typical);
  const std::size_t first = found.pattern.ends.front() + 1 - before;
  const auto &seen = found.pattern.seen;
  const std::uint64_t first_call = found.offset + (first == 0 ? 0 : seen[first - 1].place);
  PhaseRecord *record = make_record(to, phases, first_call);
  if (record == nullptr) return false;
  phases.record = record;
  record->first_call = first_call;
  record->first = seen[std::min(first, seen.size() - 1)].tick;
  for (Phases::Call &call :
       std::span{phases.ring}.first(std::min(phases.calls, std::uint64_t{Phases::remembered})))
    call.counts = 0;
  return true;
}

} // namespace

bool is_same_phase(const Phases &phases, const FoundPhase &found) {
  if (phases.record == nullptr || phases.record->iterations == 0 || phases.view != found.pattern.view)
    return false;
  const Stretches functions(phases.typical.size(), [&](std::size_t i) { return phases.typical[i]; });
  return found.has_form(functions(0, functions.size())) || is_turned(phases.typical, found.typical());
}

bool take(Recorder &to, Phases &phases, const FoundPhase &found, bool is_over) {
  const bool is_same = is_same_phase(phases, found);
  if (!is_same && !start_phase(to, phases, found)) return false;
  phases.typical = found.typical();
  phases.view = found.pattern.view;
  phases.last = found.pattern.last;
  phases.form = found.pattern.forms.front().functions;
  phases.is_self_similar = is_self_similar(phases.typical);
  phases.forms.fill(0);
  phases.longest = 0;
  phases.guessed = 0;
  phases.known_after = phases.record->iterations;
  learn_forms(phases, found);
  Count(phases, found).run(is_over);
  PhaseRecord &record = *phases.record;
  record.length = found.typical_calls();
  record.forms = std::max<std::uint64_t>(record.forms, found.pattern.forms.size());
  if (!is_same) record.found_after = record.iterations;
  return true;
}

} // namespace haloscope::watch
