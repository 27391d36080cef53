// Iterations that are recognised by their functions and callers, once the forms of some iterations are known.
#pragma once

#include "watch/phases/pattern.hpp"
#include "watch/phases/stretches.hpp"

namespace haloscope::watch {

// Adds the ends between, before and behind those of `pattern`, whose first form is known, and its other
// forms; takes out those that end no whole iteration.
void complete_pattern(Pattern &pattern, const Stretches &functions, std::span<const Seen> calls);

} // namespace haloscope::watch
