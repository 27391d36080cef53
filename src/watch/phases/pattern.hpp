// What repeats in a sequence of calls: the search for iterations in what a thread has called lately.
//
// A place of the iteration is a call after equal calls. Between two such places lies an iteration, if the
// calls there are those between the two places before or behind. Sizes tell places apart that the functions
// alone do not; where sizes change, as when particles move, another stretch of iterations begins. All of them
// end where what follows differs from one to another, which is the head of a loop. What they have in common
// is which functions are called from where: by that, iterations are found between, before and behind the
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
