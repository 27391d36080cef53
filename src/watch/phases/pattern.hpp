// The search for iterations in the latest calls of a thread.
//
// A place of the iteration is a call after equal calls. The calls between two such places are an iteration if
// the calls before or behind, between places of the same kind, are equal. Sizes distinguish places that the
// functions alone do not. If sizes change, as when particles move, a new stretch of iterations begins. All
// iterations end where the following calls differ, which is the head of a loop. All stretches have the
// functions and their callers in common. By these, iterations are found between, before and behind the
// stretches (iterations.hpp).
#pragma once

#include "watch/phases/views.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace haloscope::watch {

// The symbols of an iteration.
struct Form {
  std::size_t length;
  std::uint64_t functions; // Stretches
  auto operator<=>(const Form &) const = default;
};

struct Pattern {
  std::vector<std::size_t> ends; // the last calls of the iterations, and the call before the first iteration
  std::vector<Form> forms;       // that occurred more than once, the typical one first
  std::size_t example;           // one behind the last call of a typical iteration
  std::size_t repeats;           // iterations that were like a neighbour
  std::size_t covered;           // calls in these, of all that there are
  bool is_together;              // an iteration has a collective
  View view;                     // in which it was found
  std::vector<Seen> seen;        // in this view: all numbers above are of places there
  Code last{};                   // of the view of functions: that which each iteration ends with
};

// Return what repeats, if enough does, in the view in which most does. Time: that of sorting the calls a few
// times.
std::optional<Pattern> find_pattern(std::span<const Seen> calls);

} // namespace haloscope::watch
