#include "watch/phases/visits.hpp"

#include "watch/phases/stretches.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace haloscope::watch {

namespace {

constexpr std::size_t least_repeats = 8, least_calls = 64; // evidence that is needed

using CodeBegin = std::uintptr_t;             // its begin
using VisitPlaces = std::vector<std::size_t>; // of visits

// A visit: consecutive calls from one function of the program.
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
    visit.is_collective &= call.is_collective;
    visit.tick = call.tick;
    visit.place = call.place;
    visit.sent += call.sent;
  }
  return visits;
}

// A function that may be the last of each iteration, and behind which of its visits there is a whole one.
struct LastVisited {
  const VisitPlaces *at = nullptr;
  std::vector<bool> whole;
  std::size_t repeats = 0, covered = 0;
};

class VisitSearch {
public:
  explicit VisitSearch(std::span<const Seen> calls)
      : calls_(calls), visits_(visits_of(calls)),
        symbols_(visits_.size(), [&](std::size_t i) { return visits_[i].symbol; }) {
    for (std::size_t i = 0; i < visits_.size(); i++)
      if (visits_[i].code != 0) functions_[visits_[i].code].push_back(i);
  }

  std::optional<Pattern> run() const {
    LastVisited best = visited_once();
    if (best.at == nullptr) best = come_to_together();
    return best.at == nullptr ? std::nullopt : pattern_of(best);
  }

private:
  std::size_t calls_before(std::size_t visit) const { return visit == 0 ? 0 : visits_[visit - 1].place; }
  std::size_t calls_in(std::size_t visit) const { return visits_[visit].place - calls_before(visit); }
  std::size_t calls_between(const VisitPlaces &at) const {
    return calls_before(at.back()) - calls_before(at.front());
  }

  // Whether nearly all visits make the same number of calls as the visit before or behind. A function that is
  // visited from several places of an iteration fails this test.
  bool is_steady(const VisitPlaces &at) const {
    std::size_t steady = 0;
    for (std::size_t i = 0; i < at.size(); i++) {
      const std::size_t calls = calls_in(at[i]);
      steady +=
          (i > 0 && calls_in(at[i - 1]) == calls) || (i + 1 < at.size() && calls_in(at[i + 1]) == calls);
    }
    return 20 * steady >= 19 * at.size();
  }

  template <class IsWhole> LastVisited last_of(const VisitPlaces &at, IsWhole &&is_whole) const {
    LastVisited made{&at, {}, 0, 0};
    for (std::size_t i = 1; i < at.size(); i++) {
      made.whole.push_back(is_whole(at[i - 1], at[i]));
      if (!made.whole.back()) continue;
      made.repeats++;
      made.covered += calls_before(at[i]) - calls_before(at[i - 1]);
    }
    return made;
  }
  bool is_candidate(const VisitPlaces &at) const { return at.size() > least_repeats && is_steady(at); }
  static bool is_enough(const LastVisited &last) {
    return last.repeats >= least_repeats && last.covered >= least_calls;
  }

  // Finds the function between whose visits no function is visited twice; of several, the one visited last.
  LastVisited visited_once() const {
    LastVisited best;
    for (const auto &[function, at] : functions_) {
      if (!is_candidate(at)) continue;
      LastVisited last =
          last_of(at, [&](std::size_t begin, std::size_t end) { return is_simple(begin, end); });
      if (!is_enough(last) || 10 * last.covered < 9 * calls_between(at) ||
          4 * last.covered < 3 * calls_.size())
        continue;
      const bool is_behind = best.at == nullptr || at.front() > best.at->front();
      if (last.covered > best.covered || (last.covered == best.covered && is_behind)) best = std::move(last);
    }
    return best;
  }
  bool is_simple(std::size_t begin, std::size_t end) const {
    std::set<CodeBegin> seen;
    return std::all_of(visits_.begin() + static_cast<std::ptrdiff_t>(begin),
                       visits_.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Seen &visit) { return seen.insert(visit.code).second; });
  }

  // Finds the function that only makes collective calls, with an exchange between any two visits; of several,
  // the one with the most.
  LastVisited come_to_together() const {
    LastVisited best;
    const VisitPlaces *exchange = main_exchange();
    if (exchange == nullptr) return best;
    const auto is_exchanged = [&](std::size_t begin, std::size_t end) {
      const auto next = std::ranges::lower_bound(*exchange, begin);
      return next != exchange->end() && *next < end;
    };
    for (const auto &[function, at] : functions_) {
      const auto is_together = [&](std::size_t visit) { return visits_[visit].is_collective; };
      if (!is_candidate(at) || !std::ranges::all_of(at, is_together)) continue;
      LastVisited last = last_of(at, is_exchanged);
      if (!is_enough(last) || 20 * last.repeats < 19 * (at.size() - 1) ||
          3 * calls_between(at) < 2 * calls_.size())
        continue;
      if (last.repeats > best.repeats) best = std::move(last);
    }
    return best;
  }
  // The function that sends two thirds of all bytes of messages, if there is one.
  const VisitPlaces *main_exchange() const {
    std::uint64_t all = 0, most = 0;
    const VisitPlaces *found = nullptr;
    for (const auto &[function, at] : functions_) {
      std::uint64_t sent = 0;
      for (const std::size_t visit : at)
        sent += visits_[visit].is_collective || visit == 0 ? 0 : visits_[visit].sent;
      all += sent;
      if (sent > most) {
        most = sent;
        found = &at;
      }
    }
    return 3 * most >= 2 * all ? found : nullptr;
  }

  std::optional<Pattern> pattern_of(const LastVisited &last) const {
    const VisitPlaces &at = *last.at;
    Pattern made{at, {}, 0, last.repeats, last.covered, false, View::functions, visits_, code_of(at)};
    // The current visit may continue.
    if (made.ends.back() + 1 == visits_.size()) made.ends.pop_back();
    std::map<Form, std::pair<std::size_t, std::size_t>> forms; // how often, and one behind the newest
    for (std::size_t i = 1; i < made.ends.size(); i++) {
      if (!last.whole[i - 1]) continue;
      auto &[times, end] = forms[{at[i] - at[i - 1], symbols_(at[i - 1] + 1, at[i] + 1)}];
      times++;
      end = at[i] + 1;
    }
    const auto typical = std::ranges::max_element(
        forms, [](const auto &one, const auto &other) { return one.second.first < other.second.first; });
    made.example = typical->second.second;
    made.forms.push_back(typical->first);
    for (const auto &[form, found] : forms)
      if (found.first > 1 && form != typical->first) made.forms.push_back(form);
    const auto like = std::span{visits_}.subspan(made.example - typical->first.length, typical->first.length);
    // One function alone makes no visits, and requests with replies are no iterations.
    if (like.size() < 2 || std::ranges::all_of(like, &Seen::is_blocking)) return std::nullopt;
    made.is_together = std::ranges::any_of(like, &Seen::is_collective);
    return made;
  }

  Code code_of(const VisitPlaces &at) const {
    Code code{~std::uintptr_t{0}, 0};
    for (const Seen &call : calls_)
      if (call.code == visits_[at.front()].code)
        code = {std::min(code.first, call.from), std::max(code.last, call.from)};
    return code;
  }

  std::span<const Seen> calls_;
  std::vector<Seen> visits_;
  Stretches symbols_;
  std::map<CodeBegin, VisitPlaces> functions_; // where they are visited
};

} // namespace

std::optional<Pattern> find_visits(std::span<const Seen> calls) { return VisitSearch(calls).run(); }

} // namespace haloscope::watch
