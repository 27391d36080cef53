// Plays a tape for several parameters at once: how long the run takes, and how that grows with the parameter.
#include "explain/tape.hpp"

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

#define HALOSCOPE_PUBLIC extern "C" __attribute__((visibility("default")))

namespace haloscope::explain {
namespace {

constexpr int LANES = 8;
using Lanes = double __attribute__((vector_size(8 * LANES)));

// A line through each lane's parameter.
struct Line {
  Lanes time, slope;
};

// What an edge of a group adds for one unit, and what keeps it from being waited for.
struct Group {
  Lanes time, slope, absent;
};

inline void keep_later(Line &line, const Line &other) noexcept {
  const auto is_later = (other.time > line.time) | ((other.time == line.time) & (other.slope > line.slope));
  line.time = is_later ? other.time : line.time;
  line.slope = is_later ? other.slope : line.slope;
}

Line play(const Tape &tape, const std::vector<Group> &groups) {
  std::vector<Line> now(static_cast<std::size_t>(tape.locations), Line{});
  std::vector<Line> slots(static_cast<std::size_t>(tape.slots), Line{});
  for (std::int64_t i = 0; i < tape.steps; i++) {
    Line &line = now[static_cast<std::size_t>(tape.location[i])];
    Line &slot = slots[static_cast<std::size_t>(tape.slot[i])];
    line.time += static_cast<double>(tape.advance[i]);
    switch (static_cast<Step>(tape.step[i])) {
    case Step::first_put:
      slot = line;
      break;
    case Step::put:
      keep_later(slot, line);
      break;
    case Step::get: {
      const Group &group = groups[static_cast<std::size_t>(tape.group[i])];
      const auto units = static_cast<double>(tape.units[i]);
      const Line arrived{slot.time + static_cast<double>(tape.weight[i]) + units * group.time + group.absent,
                         slot.slope + units * group.slope};
      keep_later(line, arrived);
      break;
    }
    }
  }
  return slots[0];
}

} // namespace

// Puts the length of the run (ns) and its slope into `times` and `slopes`, for each of `count` <= 8
// questions. Question q adds parameter[q] (ns) for each unit of the edges of the groups g for which
// counts[g][q] is 1, and has no edges of those for which it is 2. `counts` has a row of 8 for each group.
// Returns 0, or 1 if there is not enough memory.
HALOSCOPE_PUBLIC int haloscope_replay(const Tape *tape, const std::uint8_t *counts, std::int32_t groups,
                                      const double *parameter, int count, double *times, double *slopes) {
  try {
    constexpr std::uint8_t is_counted = 1, is_absent = 2;
    std::vector<Group> table(static_cast<std::size_t>(groups), Group{});
    for (std::size_t g = 0; g < table.size(); g++)
      for (int q = 0; q < count; q++) {
        const std::uint8_t role = counts[g * LANES + static_cast<std::size_t>(q)];
        table[g].time[q] = role == is_counted ? parameter[q] : 0;
        table[g].slope[q] = role == is_counted ? 1 : 0;
        table[g].absent[q] = role == is_absent ? -std::numeric_limits<double>::infinity() : 0;
      }
    const Line end = play(*tape, table);
    for (int q = 0; q < count; q++) {
      times[q] = end.time[q];
      slopes[q] = end.slope[q];
    }
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}

} // namespace haloscope::explain
