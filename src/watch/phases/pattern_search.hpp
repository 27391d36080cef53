// The search for a pattern in one view of the calls.
#pragma once

#include "watch/phases/candidates.hpp"
#include "watch/phases/iterations.hpp"
#include "watch/phases/visits.hpp"

#include <algorithm>
#include <map>

namespace haloscope::watch {

// Iterations of one form and its varieties, in stretches of the sequence that do not overlap.
struct Family {
  std::vector<std::size_t> ends;
  std::vector<std::pair<std::size_t, std::size_t>> taken;
  std::size_t covered = 0, repeats = 0, span = 0;
  std::uint64_t ticks = 0;
};

class PatternSearch {
public:
  // Refers to the calls.
  explicit PatternSearch(const ViewedCalls &viewed)
      : view_(viewed.view), calls_(viewed.calls), functions_(viewed.functions), viewed_(viewed) {}

  std::optional<Pattern> run() {
    std::map<Form, Family> families;
    for (const Candidate &candidate : CandidateSearch{viewed_}.run())
      for (const auto &[form, repeats] : candidate.forms)
        if (4 * form.length * repeats >= candidate.covered) add(families[form], candidate);
    return best(families);
  }

private:
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
  const Stretches &functions_;
  const ViewedCalls &viewed_;
};

} // namespace haloscope::watch
