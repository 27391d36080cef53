// Iterations by the functions of the program that make calls, as visits: what a function calls in a row is
// one visit, however many neighbours it exchanges with.
//
// An iteration ends with a function that is come to once in it. Either, between two of its visits, no other
// function is visited twice: so a step of molecular dynamics is told by what it does at its end in every
// step, whether it sent positions before or built its lists anew. Or all ranks come to it together, and
// between two of its visits the program exchanges what it mostly exchanges: so the checksum of a step is told
// from the many collectives of a refinement. It takes no walk over the stack: where a call returns to is at
// hand, and where functions begin is looked up in a search.
#pragma once

#include "watch/phases/pattern.hpp"

namespace haloscope::watch {

// Return the iterations that most calls are in, if there is such a function. Time: about that of sorting.
std::optional<Pattern> find_visits(std::span<const Seen> calls);

} // namespace haloscope::watch
