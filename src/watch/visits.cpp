#include "watch/visits.hpp"

#include "watch/stretches.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace haloscope::watch {

namespace {

// Evidence that is needed: of this many visits, and calls.
constexpr std::size_t least_repeats = 5, least_calls = 64;

// One behind the other, as the calls are: each stands for those of one function in a row.
std::vector<Seen> visits_of(std::span<const Seen> calls) {
  std::vector<Seen> visits;
  for (const Seen &call : calls) {
    if (visits.empty() || visits.back().code != call.code) {
      visits.push_back(call);
      visits.back().symbol = static_cast<std::uint16_t>(stretch_weight(call.code) >> 40U);
      continue;
    }
    Seen &visit = visits.back();
    visit.is_blocking &= call.is_blocking;
    visit.is_collective |= call.is_collective;
    visit.tick = call.tick;
    visit.place = call.place;
  }
  return visits;
}

class VisitSearch {
public:
  explicit VisitSearch(std::span<const Seen> calls)
      : calls_(calls), visits_(visits_of(calls)),
        symbols_(visits_.size(), [&](std::size_t i) { return visits_[i].symbol; }) {}

  std::optional<Pattern> run() {
    std::map<std::uintptr_t, std::vector<std::size_t>> functions; // where they are visited
    for (std::size_t i = 0; i < visits_.size(); i++)
      if (visits_[i].code != 0) functions[visits_[i].code].push_back(i);
    const std::vector<std::size_t> *best = nullptr;
    std::size_t most = 0;
    for (const auto &[code, at] : functions) {
      const std::size_t covered = at.size() > least_repeats && is_steady(at) ? covered_by(at) : 0;
      const bool is_earlier = best != nullptr && at.front() < best->front();
      if (covered == 0 || covered < most || (covered == most && !is_earlier)) continue;
      best = &at;
      most = covered;
    }
    return best == nullptr ? std::nullopt : pattern_of(*best);
  }

private:
  std::size_t calls_before(std::size_t visit) const { return visit == 0 ? 0 : visits_[visit - 1].place; }
  std::size_t calls_in(std::size_t visit) const { return visits_[visit].place - calls_before(visit); }

  // Whether nearly all visits make as many calls as the one before or behind. Of a function that is come to
  // from several places of an iteration, they do not.
  bool is_steady(const std::vector<std::size_t> &at) const {
    std::size_t steady = 0;
    for (std::size_t i = 0; i < at.size(); i++) {
      const std::size_t calls = calls_in(at[i]);
      steady +=
          (i > 0 && calls_in(at[i - 1]) == calls) || (i + 1 < at.size() && calls_in(at[i + 1]) == calls);
    }
    return 20 * steady >= 19 * at.size();
  }

  // Whether no function is visited twice between two visits.
  bool is_simple(std::size_t begin, std::size_t end) const {
    std::set<std::uintptr_t> seen;
    for (std::size_t i = begin; i < end; i++)
      if (!seen.insert(visits_[i].code).second) return false;
    return true;
  }

  // Calls in iterations, if these are enough; or 0.
  std::size_t covered_by(const std::vector<std::size_t> &at) const {
    std::size_t covered = 0;
    for (std::size_t i = 1; i < at.size(); i++)
      if (is_simple(at[i - 1], at[i])) covered += calls_before(at[i]) - calls_before(at[i - 1]);
    const std::size_t span = calls_before(at.back()) - calls_before(at.front());
    const bool is_enough =
        covered >= least_calls && 10 * covered >= 9 * span && 4 * covered >= 3 * calls_.size();
    return is_enough ? covered : 0;
  }

  std::optional<Pattern> pattern_of(const std::vector<std::size_t> &at) const {
    Pattern made{{}, {}, 0, 0, 0, false, View::functions, visits_, head_of(visits_[at.front()].code)};
    std::map<Form, std::pair<std::size_t, std::size_t>> forms; // how often, and one behind the last
    for (std::size_t i = 0; i < at.size(); i++) {
      if (at[i] > 0) made.ends.push_back(at[i] - 1);
      if (i == 0) continue;
      auto &[times, last] = forms[{at[i] - at[i - 1], symbols_(at[i - 1], at[i])}];
      times++;
      last = at[i];
      if (!is_simple(at[i - 1], at[i])) continue;
      made.repeats++;
      made.covered += calls_before(at[i]) - calls_before(at[i - 1]);
    }
    const auto typical = std::ranges::max_element(
        forms, [](const auto &one, const auto &other) { return one.second.first < other.second.first; });
    made.example = typical->second.second;
    made.forms.push_back(typical->first);
    for (const auto &[form, found] : forms)
      if (found.first > 1 && form != typical->first) made.forms.push_back(form);
    const auto like = std::span{visits_}.subspan(made.example - typical->first.length, typical->first.length);
    // Of one function there would be no visits; questions and answers are no iterations.
    if (like.size() < 2 || std::ranges::all_of(like, &Seen::is_blocking)) return std::nullopt;
    made.is_together = std::ranges::any_of(like, &Seen::is_collective);
    return made;
  }

  Code head_of(std::uintptr_t code) const {
    Code head{~std::uintptr_t{0}, 0};
    for (const Seen &call : calls_)
      if (call.code == code) head = {std::min(head.first, call.from), std::max(head.last, call.from)};
    return head;
  }

  std::span<const Seen> calls_;
  std::vector<Seen> visits_;
  Stretches symbols_;
};

} // namespace

std::optional<Pattern> find_visits(std::span<const Seen> calls) { return VisitSearch(calls).run(); }

} // namespace haloscope::watch
