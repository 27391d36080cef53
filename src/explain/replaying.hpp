// Plays a tape from its beginning to its end. Included once per instruction set, as wide.hpp is.
#pragma once

#include "explain/tape.hpp"
#include "explain/wide.hpp"

namespace haloscope::explain::HALOSCOPE_SET {

// A part of the questions that fills a vector.
struct Part {
  Real time, slope;

  static HALOSCOPE_INLINE Part of(const Lines &lines, int part) {
    Part made;
    __builtin_memcpy(&made.time, lines.time + ptrdiff_t{part} * lane_count, sizeof(Real));
    __builtin_memcpy(&made.slope, lines.slope + ptrdiff_t{part} * lane_count, sizeof(Real));
    return made;
  }
  HALOSCOPE_INLINE void put(Lines &lines, int part) const {
    __builtin_memcpy(lines.time + ptrdiff_t{part} * lane_count, &time, sizeof(Real));
    __builtin_memcpy(lines.slope + ptrdiff_t{part} * lane_count, &slope, sizeof(Real));
  }
  // The one that is later; of two at one time that which grows faster.
  HALOSCOPE_INLINE Part later(const Part &other) const {
    const Bits is_later = (other.time > time) | ((other.time == time) & (other.slope > slope));
    return {select(is_later, other.time, time), select(is_later, other.slope, slope)};
  }
};

HALOSCOPE_INLINE Real load(const double *values, int part) {
  Real made;
  __builtin_memcpy(&made, values + ptrdiff_t{part} * lane_count, sizeof(Real));
  return made;
}

inline void replay(const Tape &tape, const Replay &state) {
  for (int64_t i = 0; i < tape.steps; ++i) {
    Lines &here = state.now[tape.location[i]], &slot = state.slots[tape.slot[i]];
    const UnitOf &unit = state.groups[tape.group[i]];
    const auto advance = static_cast<double>(tape.advance[i]), weight = static_cast<double>(tape.weight[i]);
    const auto units = static_cast<double>(tape.units[i]);
    const Step step{tape.step[i]};
    for (int part = 0; part < question_count / lane_count; ++part) {
      Part line = Part::of(here, part);
      line.time += advance;
      if (step == Step::get) {
        const Part sent = Part::of(slot, part);
        line = line.later({sent.time + weight + units * load(unit.time, part) + load(unit.absent, part),
                           sent.slope + units * load(unit.slope, part)});
      } else {
        (step == Step::put ? Part::of(slot, part).later(line) : line).put(slot, part);
      }
      line.put(here, part);
    }
  }
}

} // namespace haloscope::explain::HALOSCOPE_SET
