// A pattern, and where it is among all calls.
#pragma once

#include "watch/phases/pattern.hpp"

#include <algorithm>
#include <vector>

namespace haloscope::watch {

// A pattern in the ring, whose oldest call has the number `offset`, counted from 0 on.
struct FoundPhase {
  Pattern pattern;
  std::uint64_t offset;

  [[nodiscard]] std::uint64_t end(std::size_t i) const {
    return offset + pattern.seen[pattern.ends[i]].place;
  }
  [[nodiscard]] std::uint64_t last_end() const { return end(pattern.ends.size() - 1); }
  [[nodiscard]] bool has_form(std::uint64_t functions) const {
    return std::ranges::any_of(pattern.forms, [&](const Form &form) { return form.functions == functions; });
  }
  // Calls of a typical iteration, also those that the view leaves out.
  [[nodiscard]] std::size_t typical_calls() const {
    const std::size_t begin = pattern.example - pattern.forms.front().length;
    return pattern.seen[pattern.example - 1].place - (begin == 0 ? 0 : pattern.seen[begin - 1].place);
  }
  // How many of the calls up to an end, and behind it, are those of an iteration.
  [[nodiscard]] std::size_t calls_before(std::size_t i, const std::vector<std::uint16_t> &typical) const {
    const std::size_t end = pattern.ends[i];
    std::size_t same = 0;
    while (same < typical.size() && same <= end &&
           pattern.seen[end - same].symbol == typical[typical.size() - 1 - same])
      same++;
    return same;
  }
  [[nodiscard]] std::size_t calls_behind(std::size_t i, const std::vector<std::uint16_t> &typical) const {
    const std::size_t begin = pattern.ends[i] + 1;
    std::size_t same = 0;
    while (same < typical.size() && begin + same < pattern.seen.size() &&
           pattern.seen[begin + same].symbol == typical[same])
      same++;
    // A visit of all ranks together ends an iteration: no part of it comes after that.
    const bool is_closed = pattern.view == View::functions && pattern.seen[begin - 1].is_collective;
    return is_closed && same < typical.size() ? 0 : same;
  }
  [[nodiscard]] std::vector<std::uint16_t> typical() const {
    std::vector<std::uint16_t> symbols;
    const std::size_t length = pattern.forms.front().length;
    for (std::size_t i = pattern.example - length; i < pattern.example; i++)
      symbols.push_back(pattern.seen[i].symbol);
    return symbols;
  }
};

} // namespace haloscope::watch
