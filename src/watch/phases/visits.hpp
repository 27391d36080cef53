// Iterations by visits: consecutive MPI calls from one function of the program are one visit, however many
// neighbours it exchanges with.
//
// An iteration ends with a function that is visited once in it, by one of two tests. First: between two of
// its visits, no other function is visited twice. So a time step of molecular dynamics is recognised by the
// function at its end, whether or not the step rebuilt its lists. Second: all ranks visit it together, and
// between two of its visits the program makes most of its exchanges. So the checksum of a step is
// distinguished from the many collectives of a refinement.
//
// This needs no walk over the stack: the return address of each call is known, and a search finds where its
// function begins.
#pragma once

#include "watch/phases/pattern.hpp"

namespace haloscope::watch {

// Return the iterations that most calls are in, if there is such a function. Time: about that of sorting.
std::optional<Pattern> find_visits(std::span<const Seen> calls);

} // namespace haloscope::watch
