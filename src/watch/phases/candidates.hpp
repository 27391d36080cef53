// Candidates for iterations in one view of the calls: stretches between equal calls after equal calls.
#pragma once

#include "watch/phases/pattern.hpp"
#include "watch/phases/stretches.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

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

// The calls of a view, and hashes of their stretches.
struct ViewedCalls {
  // `of`: the symbol of a call, in the view.
  template <class Of>
  ViewedCalls(View in, std::span<const Seen> every, std::span<const Seen> seen, Of &&of)
      : view(in), calls(seen), all(every.size(), [&](std::size_t i) { return every[i].symbol; }),
        symbols(calls.size(), [&](std::size_t i) { return of(calls[i]); }),
        functions(calls.size(), [&](std::size_t i) { return calls[i].symbol; }) {}

  View view;
  std::span<const Seen> calls;
  Stretches all, symbols, functions; // `all`: also of calls that the view leaves out
};

class CandidateSearch {
public:
  explicit CandidateSearch(const ViewedCalls &viewed)
      : view_(viewed.view), calls_(viewed.calls), all_(viewed.all), symbols_(viewed.symbols),
        functions_(viewed.functions) {}

  // Per stretch, the places with the most iterations and the least context come first.
  std::vector<Candidate> run() {
    for (const unsigned context : {1U, 2U, 4U, 8U}) add_candidates(context);
    std::ranges::sort(candidates_, [](const Candidate &a, const Candidate &b) {
      if (a.repeats != b.repeats) return a.repeats > b.repeats;
      if (a.ends.size() != b.ends.size()) return a.ends.size() < b.ends.size();
      if (a.context != b.context) return a.context < b.context;
      return a.ends.front() < b.ends.front();
    });
    return std::move(candidates_);
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

  View view_;
  std::span<const Seen> calls_;
  const Stretches &all_, &symbols_, &functions_;
  std::vector<Candidate> candidates_;
};

} // namespace haloscope::watch
