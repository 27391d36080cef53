// What Python passes to the kernels of functional boxplots.
#pragma once

#include <cstdint>

namespace haloscope::explain {

// count × points values, a curve after the other.
struct Curves {
  const double *values;
  int64_t count, points;
};

} // namespace haloscope::explain
