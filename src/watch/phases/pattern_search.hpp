// The search for a pattern in one view of the calls.
#pragma once

#include "watch/phases/iterations.hpp"
#include "watch/phases/pattern.hpp"
#include "watch/phases/stretches.hpp"
#include "watch/phases/visits.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace haloscope::watch {

// Places: the same call after the same calls, `context` in all.
using CallPlace = std::pair<std::uint64_t, std::uint32_t>; // hash of these calls, number of the last
struct Candidate {
  std::vector<std::uint32_t> ends;
  std::vector<bool> alike;           // whether the iteration from one end to the next is like a neighbour
  std::map<Form, std::size_t> forms; // of those that are
  std::size_t covered = 0, repeats = 0;
  unsigned context = 0;
};

// Iterations of one form and its varieties, in stretches of the sequence that do not overlap.
struct Family {
  std::vector<std::size_t> ends;
  std::vector<std::pair<std::size_t, std::size_t>> taken;
  std::size_t covered = 0, repeats = 0, span = 0;
  std::uint64_t ticks = 0;
};

class PatternSearch {
public:
  template <class Of>
  PatternSearch(View view, std::span<const Seen> all, std::span<const Seen> calls, Of &&of)
      : view_(view), calls_(calls), all_(all.size(), [&](std::size_t i) { return all[i].symbol; }),
        symbols_(calls.size(), [&](std::size_t i) { return of(calls[i]); }),
        functions_(calls.size(), [&](std::size_t i) { return calls[i].symbol; }) {}

  std::optional<Pattern> run() {
    for (const unsigned context : {1U, 2U, 4U, 8U}) add_candidates(context);
    // Per stretch, the places with the most iterations and the least context come first.
    std::ranges::sort(candidates_, [](const Candidate &a, const Candidate &b) {
      if (a.repeats != b.repeats) return a.repeats > b.repeats;
      if (a.ends.size() != b.ends.size()) return a.ends.size() < b.ends.size();
      if (a.context != b.context) return a.context < b.context;
      return a.ends.front() < b.ends.front();
    });
    std::map<Form, Family> families;
    for (const Candidate &candidate : candidates_)
      for (const auto &[form, repeats] : candidate.forms)
        if (4 * form.length * repeats >= candidate.covered) add(families[form], candidate);
    return best(families);
  }

private:
  void add_candidates(unsigned context) {
    std::vector<CallPlace> places;
    places.reserve(calls_.size());
    for (std::size_t i = context; i <= calls_.size(); i++)
      places.emplace_back(symbols_(i - context, i), static_cast<std::uint32_t>(i - 1));
    std::ranges::sort(places);
    for (auto at = places.begin(); at != places.end();) {
      auto end = at;
      while (end != places.end() && end->first == at->first) ++end;
      if (end - at > 2) add_candidates(std::span{at, end}, context);
      at = end;
    }
  }

  void add_candidates(std::span<const CallPlace> places, unsigned context) {
    const std::size_t count = places.size() - 1; // of the stretches between them
    std::vector<std::uint64_t> hashes(count);
    for (std::size_t i = 0; i < count; i++) hashes[i] = contents(places[i].second, places[i + 1].second);
    std::vector<bool> alike(count);
    for (std::size_t i = 0; i < count; i++)
      alike[i] = (i > 0 && hashes[i] == hashes[i - 1]) || (i + 1 < count && hashes[i] == hashes[i + 1]);
    for (std::size_t i = 0; i < count;) {
      if (!alike[i]) {
        i++;
        continue;
      }
      const std::size_t last = last_of(i, places, hashes, alike);
      add_candidate(places.subspan(i, last - i + 2),
                    {alike.begin() + static_cast<std::ptrdiff_t>(i),
                     alike.begin() + static_cast<std::ptrdiff_t>(last) + 1},
                    context);
      i = last + 1;
    }
  }

  // Hashes the contents of an iteration. With only one symbol for all exchanges, any calls would repeat.
  std::uint64_t contents(std::size_t begin, std::size_t end) const {
    const std::uint64_t symbols = symbols_(begin + 1, end + 1);
    if (view_ != View::collectives) return symbols;
    return symbols * stretch_factor + all_(calls_[begin].place, calls_[end].place);
  }

  // The last iteration that belongs to the same stretch as the first. After an interruption it goes on if
  // iterations are as before, or of a form that is new: equal functions with other sizes are a coincidence.
  std::size_t last_of(std::size_t first, std::span<const CallPlace> places,
                      const std::vector<std::uint64_t> &hashes, const std::vector<bool> &alike) const {
    const auto length = [&](std::size_t i) { return std::size_t{places[i + 1].second} - places[i].second; };
    const auto form = [&](std::size_t i) {
      return functions_(places[i].second + 1, places[i + 1].second + 1);
    };
    std::size_t last = first, longest = length(first);
    std::set<std::uint64_t> known{hashes[first]}, forms{form(first)};
    for (std::size_t i = first + 1; i < hashes.size(); i++) {
      if (!alike[i]) {
        if (length(i) > 4 * longest + 16) break;
        continue;
      }
      if (length(i) > 2 * longest) break;
      if (hashes[i] != hashes[last]) {
        if (last + 1 < i && !known.contains(hashes[i]) && forms.contains(form(i))) break;
        known.insert(hashes[i]);
        forms.insert(form(i));
        longest = std::max(longest, length(i));
      }
      last = i;
    }
    return last;
  }

  void add_candidate(std::span<const CallPlace> places, std::vector<bool> alike, unsigned context) {
    Candidate made;
    std::vector<std::size_t> certain;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < alike.size(); i++)
      if (alike[i]) {
        certain.push_back(places[i + 1].second);
        longest = std::max<std::size_t>(longest, places[i + 1].second - places[i].second);
      }
    if (certain.size() < 2) return;
    const std::size_t by = distance_to_branch(certain, longest);
    for (const CallPlace &place : places) made.ends.push_back(static_cast<std::uint32_t>(place.second + by));
    for (std::size_t i = 0; i < alike.size(); i++) {
      if (!alike[i]) continue;
      const std::size_t begin = made.ends[i] + 1, end = made.ends[i + 1] + 1;
      made.forms[{end - begin, functions_(begin, end)}]++;
      made.covered += end - begin;
      made.repeats++;
    }
    made.alike = std::move(alike);
    made.context = context;
    candidates_.push_back(std::move(made));
  }

  // How many calls all go on alike: there the loop branches.
  std::size_t distance_to_branch(const std::vector<std::size_t> &ends, std::size_t longest) const {
    for (std::size_t by = 1; by <= longest; by++) {
      if (ends.back() + by >= calls_.size()) return 0;
      const std::uint16_t next = calls_[ends.front() + by].symbol;
      if (!std::ranges::all_of(ends, [&](std::size_t end) { return calls_[end + by].symbol == next; }))
        return by - 1;
    }
    return 0;
  }

  // All of them, also those that the view leaves out.
  std::size_t calls_between(std::size_t begin, std::size_t end) const {
    return calls_[end].place - calls_[begin].place;
  }

  // Adds the part of a candidate that other candidates have not covered.
  void add(Family &family, const Candidate &candidate) const {
    const auto is_free = [&](std::size_t i) {
      return std::ranges::none_of(family.taken, [&](const auto &taken) {
        return candidate.ends[i] < taken.second && taken.first < candidate.ends[i + 1];
      });
    };
    std::vector<bool> free(candidate.alike.size());
    std::size_t repeats = 0;
    for (std::size_t i = 0; i < free.size(); i++) {
      free[i] = is_free(i);
      repeats += free[i] && candidate.alike[i] ? 1 : 0;
    }
    if (repeats < 2) return;
    for (std::size_t i = 0; i < free.size(); i++) {
      if (!free[i] || !candidate.alike[i]) continue;
      std::size_t last = i;
      for (std::size_t j = i + 1; j < free.size() && free[j]; j++)
        if (candidate.alike[j]) last = j;
      take(family, candidate, i, last);
      i = last;
    }
  }

  void take(Family &family, const Candidate &candidate, std::size_t first, std::size_t last) const {
    const std::size_t begin = candidate.ends[first], end = candidate.ends[last + 1];
    family.taken.emplace_back(begin, end);
    family.span += calls_between(begin, end);
    family.ends.push_back(begin);
    for (std::size_t i = first; i <= last; i++) {
      const std::size_t from = candidate.ends[i], to = candidate.ends[i + 1];
      // Between two iterations without a similar one, an end cannot be recognised.
      if (candidate.alike[i] || i == last || candidate.alike[i + 1]) family.ends.push_back(to);
      if (!candidate.alike[i]) continue;
      family.covered += calls_between(from, to);
      family.repeats++;
      family.ticks += calls_[to].tick - calls_[from].tick;
    }
  }

  // The shortest iteration that most of what repeats consists of.
  std::optional<Pattern> best(const std::map<Form, Family> &families) const {
    std::size_t most = 0;
    std::uint64_t longest = 0;
    for (const auto &[form, family] : families) {
      most = std::max(most, family.covered);
      longest = std::max(longest, family.ticks);
    }
    for (const auto &[form, family] : families)
      if (is_enough(form, family) && 4 * family.covered >= 3 * most && 2 * family.ticks >= longest)
        if (auto pattern = pattern_of(form, family)) return pattern;
    return std::nullopt;
  }

  // A pattern with only one function is often a part of the iteration, such as messages to several
  // neighbours.
  bool is_enough(const Form &form, const Family &family) const {
    constexpr std::size_t least_repeats = 5, least_calls = 16, least_single_calls = 512;
    if (family.repeats < least_repeats || family.covered < least_calls) return false;
    if (is_of_one_function(form, family)) {
      const auto [first, last] = std::ranges::minmax(family.ends);
      return view_ == View::calls && (form.length > 1 || family.covered >= least_single_calls) &&
             10 * family.covered >= 9 * calls_between(first, last);
    }
    if (view_ == View::calls) return 2 * family.covered >= family.span;
    // With fewer symbols, equality by chance is more probable.
    constexpr std::size_t least_seen = 64;
    if (family.covered < least_seen) return false;
    if (view_ == View::exchanges) return 3 * family.covered >= 2 * family.span;
    // Several collectives whose bytes and order are the same are hardly so by chance.
    constexpr std::size_t many = 4;
    return has_exchange(form, family) && (form.length >= many ? 3 : 2) * family.covered >= family.span;
  }

  std::span<const Seen> calls_of(const Form &form, const Family &family) const {
    return calls_.subspan(example_of(form, family.ends) - form.length, form.length);
  }
  bool has_exchange(const Form &form, const Family &family) const {
    return !std::ranges::all_of(calls_of(form, family), &Seen::is_collective);
  }
  bool is_of_one_function(const Form &form, const Family &family) const {
    const auto calls = calls_of(form, family);
    return std::ranges::all_of(calls,
                               [&](const Seen &call) { return call.function == calls.front().function; });
  }

  // One behind the last iteration of this form.
  std::size_t example_of(const Form &form, std::vector<std::size_t> ends) const {
    std::ranges::sort(ends);
    std::size_t example = form.length;
    for (std::size_t i = 1; i < ends.size(); i++) {
      const std::size_t begin = ends[i - 1] + 1, end = ends[i] + 1;
      if (Form{end - begin, functions_(begin, end)} == form) example = end;
    }
    return example;
  }

  std::optional<Pattern> pattern_of(const Form &form, const Family &family) const {
    Pattern made{family.ends, {form}, 0, family.repeats, family.covered, false, view_, {}, {}};
    std::ranges::sort(made.ends);
    made.ends.erase(std::ranges::unique(made.ends).begin(), made.ends.end());
    made.example = example_of(form, made.ends);
    // Questions and answers, as of a master and its workers, are no iterations.
    const auto typical = calls_.subspan(made.example - form.length, form.length);
    if (std::ranges::all_of(typical, [](const Seen &call) { return call.is_blocking; })) return std::nullopt;
    made.is_together = std::ranges::any_of(typical, [](const Seen &call) { return call.is_collective; });
    if (view_ == View::collectives)
      take_all_equal(made);
    else
      complete_pattern(made, functions_, calls_);
    return made;
  }

  // All that are equal, wherever they are: from that call on from which there are most.
  void take_all_equal(Pattern &made) const {
    constexpr std::size_t most_turns = 64;
    const std::size_t length = made.forms.front().length;
    std::vector<std::size_t> most;
    const std::size_t last = made.example;
    for (std::size_t turn = 0; turn < std::min(length, most_turns) && turn + length <= last; turn++) {
      const std::size_t end = last - turn;
      const std::uint64_t form = functions_(end - length, end);
      auto ends = ends_of_all(form, length);
      // The call that ends it is known at once if it is a collective.
      const bool is_better = ends.size() > most.size() + (calls_[end - 1].is_collective ? 0 : 1);
      if (turn > 0 && !is_better) continue;
      most = std::move(ends);
      made.forms.front().functions = form;
      made.example = end;
    }
    made.ends = std::move(most);
  }

  std::vector<std::size_t> ends_of_all(std::uint64_t form, std::size_t length) const {
    std::vector<std::size_t> ends;
    for (std::size_t begin = 0; begin + length <= calls_.size();) {
      const bool is_one = functions_(begin, begin + length) == form;
      if (is_one) ends.push_back(begin + length - 1);
      begin += is_one ? length : 1;
    }
    return ends;
  }

  View view_;
  std::span<const Seen> calls_;
  Stretches all_, symbols_, functions_;
  std::vector<Candidate> candidates_;
};

} // namespace haloscope::watch
