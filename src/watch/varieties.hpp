// Stretches in which the iteration has other calls than the typical one, and those between its own.
//
// Where lists are rebuilt, a rank may have other neighbours from then on: the iterations are alike among
// themselves until the next time, and sends and receives are more or fewer than in the typical one. They are
// told by what they are made of and by how long they last. As a part of the typical iteration often has the
// same functions, they count within their stretch alone.
#pragma once

#include "watch/pattern.hpp"

#include <span>
#include <vector>

namespace haloscope::watch {

struct Variety {
  Form form;
  std::size_t example; // one behind the last call of one
  std::uint64_t ticks; // that one takes
  std::vector<std::vector<std::size_t>>
      stretches; // last calls, in order: that before the first iteration, too
};

// Whether most calls of `typical` are among `calls`, in any order.
bool has_most_of(std::span<const Seen> calls, std::span<const Seen> typical);

// Adds the stretches of those `varieties` that are the iteration of `pattern`, which takes `ticks`, where it
// has no ends. Their order is that in which they are preferred.
void add_varieties(Pattern &pattern, std::span<const Seen> calls, std::uint64_t ticks,
                   std::span<const Variety> varieties);

} // namespace haloscope::watch
