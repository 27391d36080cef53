#include "watch/varieties.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace haloscope::watch {

namespace {

std::set<std::uint16_t> kinds_of(std::span<const Seen> calls) {
  std::set<std::uint16_t> kinds;
  for (const Seen &call : calls) kinds.insert(call.symbol);
  return kinds;
}

bool is_alike(const Variety &one, std::span<const Seen> its, std::uint64_t ticks,
              std::span<const Seen> typical) {
  if (its.size() >= 2 * typical.size()) return false; // may be two iterations
  const auto lasts_alike = [&](std::uint64_t times) {
    return times * one.ticks >= ticks && one.ticks <= times * ticks;
  };
  return has_most_of(its, typical) ? lasts_alike(8) : kinds_of(its) == kinds_of(typical) && lasts_alike(4);
}

// Whether no iteration ends within the stretch.
bool is_gap(const std::vector<std::size_t> &ends, const std::vector<std::size_t> &stretch) {
  const auto behind = std::ranges::upper_bound(ends, stretch.front());
  return behind == ends.end() || *behind >= stretch.back();
}

// Whether one lies before the stretch: its sizes may be other ones, as those of the first after a change are.
bool is_before(const std::vector<std::size_t> &ends, std::size_t first, std::span<const Seen> calls,
               std::span<const Seen> its) {
  const std::size_t behind = first + 1;
  const auto last = std::ranges::lower_bound(ends, first);
  const std::size_t free = last == ends.begin() ? 0 : *std::prev(last) + 1;
  return free + its.size() <= behind && std::ranges::equal(calls.subspan(behind - its.size(), its.size()),
                                                           its, {}, &Seen::symbol, &Seen::symbol);
}

} // namespace

bool has_most_of(std::span<const Seen> calls, std::span<const Seen> typical) {
  std::map<std::uint16_t, std::size_t> left;
  for (const Seen &call : typical) left[call.symbol]++;
  std::size_t found = 0;
  for (const Seen &call : calls)
    if (const auto at = left.find(call.symbol); at != left.end() && at->second > 0) {
      at->second--;
      found++;
    }
  return 4 * found >= 3 * typical.size();
}

void add_varieties(Pattern &pattern, std::span<const Seen> calls, std::uint64_t ticks,
                   std::span<const Variety> varieties) {
  const std::size_t length = pattern.forms.front().length;
  const auto typical = calls.subspan(pattern.example - length, length);
  for (const Variety &variety : varieties) {
    const auto its = calls.subspan(variety.example - variety.form.length, variety.form.length);
    if (!is_alike(variety, its, ticks, typical)) continue;
    for (const auto &stretch : variety.stretches) {
      if (!is_gap(pattern.ends, stretch)) continue;
      const bool more = is_before(pattern.ends, stretch.front(), calls, its);
      pattern.varieties.insert(pattern.varieties.end(), stretch.begin() + (more ? 0 : 1), stretch.end());
      pattern.ends.insert(pattern.ends.end(), stretch.begin(), stretch.end());
      std::ranges::sort(pattern.ends);
      pattern.ends.erase(std::ranges::unique(pattern.ends).begin(), pattern.ends.end());
    }
  }
  std::ranges::sort(pattern.varieties);
}

} // namespace haloscope::watch
