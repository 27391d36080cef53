#include "watch/phases/pattern.hpp"

#include "watch/phases/pattern_search.hpp"

#include <algorithm>

namespace haloscope::watch {

namespace {

std::optional<Pattern> find_in(View view, std::span<const Seen> calls) {
  constexpr std::size_t least_coarse = 512; // a coarse view needs more evidence
  std::vector<Seen> seen = seen_as(view, calls);
  const auto search = [&](auto symbol) {
    return PatternSearch(ViewedCalls(view, calls, seen, symbol)).run();
  };
  auto found = search([](const Seen &call) { return call.exact; });
  if (!found && seen.size() >= least_coarse && view == View::calls)
    found = search([](const Seen &call) { return call.coarse; });
  if (found) found->seen = std::move(seen);
  return found;
}

// Whether most calls from the first iteration on are in iterations that are like their neighbours, and most
// iterations are typical ones.
bool is_regular(const Pattern &pattern) {
  const auto &ends = pattern.ends;
  std::size_t typical = 0;
  for (std::size_t i = 1; i < ends.size(); i++)
    typical += ends[i] - ends[i - 1] == pattern.forms.front().length ? 1 : 0;
  if (2 * typical + 1 < ends.size()) return false;
  const std::size_t first = pattern.seen[ends.front()].place, all = pattern.seen.back().place;
  return 4 * pattern.covered >= 3 * (all - first) && 2 * pattern.covered >= all;
}

// Whether iterations that many of the calls are in make up those of another pattern.
bool is_part(const Pattern &pattern, const Pattern &other, std::size_t calls) {
  return 2 * pattern.covered >= calls && 3 * pattern.ends.size() > 4 * other.ends.size();
}

// Whether another pattern has more of what are the same iterations, nearly all of them.
bool misses_some_of(const Pattern &pattern, const Pattern &other) {
  return other.covered > pattern.covered && other.ends.size() > pattern.ends.size() &&
         3 * other.ends.size() <= 4 * pattern.ends.size();
}

} // namespace

std::optional<Pattern> find_pattern(std::span<const Seen> calls) {
  auto all = find_in(View::calls, calls);
  auto visits = find_visits(calls);
  const auto is_less = [&](const Pattern &than) {
    return visits && (4 * than.covered < 3 * visits->covered || misses_some_of(than, *visits));
  };
  if (all && is_regular(*all) && !is_less(*all)) return all;
  auto exchanges = find_in(View::exchanges, calls);
  auto collectives = find_in(View::collectives, calls);
  // Between two collectives there may be several iterations.
  if (exchanges && collectives) {
    const bool is_finer = 2 * exchanges->ends.size() >= 3 * collectives->ends.size();
    const std::size_t least = (is_finer ? 7 : 10) * collectives->covered;
    (10 * exchanges->covered >= least ? collectives : exchanges).reset();
  }
  auto &other = exchanges ? exchanges : collectives;
  const auto is_better_than = [&](const std::optional<Pattern> &than) {
    return !than || (visits->covered > than->covered && !is_part(*than, *visits, calls.size()));
  };
  if (visits && is_better_than(all) && is_better_than(other)) return visits;
  // The view of all calls is less regular, so it must cover half as much again.
  if (all && (!other || 2 * all->covered >= 3 * other->covered)) return all;
  return std::move(other);
}

} // namespace haloscope::watch
