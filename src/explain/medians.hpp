#pragma once

#include <cstdint>
#include <vector>

namespace haloscope::explain {

// Of `length` > 0 values without NaN, as NumPy has it; `part` is room to work in.
double median(const double *values, int64_t length, std::vector<double> &part);

} // namespace haloscope::explain
