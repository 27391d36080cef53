// Plays a tape for several parameters at once: how long the run takes, and how that grows with the parameter.
#include "explain/batch.hpp"
#include "explain/public.hpp"
#include "explain/tape.hpp"

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace haloscope::explain {

// Puts the length of the run (ns) and its slope into `times` and `slopes`, for each of `count` <= 8
// questions. Question q adds parameter[q] (ns) for each unit of the edges of the groups g for which
// counts[g][q] is 1, and has no edges of those for which it is 2. `counts` has a row of 8 for each group.
// Returns 0, or 1 if there is not enough memory.
HALOSCOPE_PUBLIC int haloscope_replay(const Tape *tape, const std::uint8_t *counts, std::int32_t groups,
                                      int set, const double *parameter, int count, double *times,
                                      double *slopes) {
  constexpr std::uint8_t is_counted = 1, is_absent = 2;
  try {
    std::vector<UnitOf> units(static_cast<std::size_t>(groups), UnitOf{});
    for (std::size_t g = 0; g < units.size(); g++)
      for (int q = 0; q < count; q++) {
        const std::uint8_t role = counts[g * question_count + static_cast<std::size_t>(q)];
        units[g].time[q] = role == is_counted ? parameter[q] : 0;
        units[g].slope[q] = role == is_counted ? 1 : 0;
        units[g].absent[q] = role == is_absent ? -std::numeric_limits<double>::infinity() : 0;
      }
    std::vector<Lines> now(static_cast<std::size_t>(tape->locations), Lines{});
    std::vector<Lines> slots(static_cast<std::size_t>(tape->slots), Lines{});
    kernels_of(set).replay(*tape, {units.data(), now.data(), slots.data()});
    for (int q = 0; q < count; q++) {
      times[q] = slots[0].time[q];
      slopes[q] = slots[0].slope[q];
    }
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}

} // namespace haloscope::explain
