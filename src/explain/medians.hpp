#pragma once

#include <span>
#include <vector>

namespace haloscope::explain {

// Of values without NaN, one at least, as NumPy has it; `part` is room to work in.
double median(std::span<const double> values, std::vector<double> &part);

} // namespace haloscope::explain
