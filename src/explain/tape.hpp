// The event graph of a run as a tape: what can be played from its beginning to its end without looking back.
#pragma once

#include <cstdint>

namespace haloscope::explain {

// A step belongs to a location (a thread of a rank). The location first advances by `advance`. Then a put
// step writes its time into a slot, which keeps the latest time. A get step sets the time to the slot's plus
// `weight`, if that is later. A slot can be reused after all waiting locations have read it.
enum class Step : std::uint8_t { first_put, put, get };

struct Tape {
  std::int32_t *location, *slot;
  std::uint8_t *step;
  std::int64_t *advance, *weight; // nanoseconds; a weight only where something is read
  std::int64_t *units;            // how many times the parameter is added to the weight: latencies, or bytes
  std::int32_t *group;            // whose edge this is
  std::int64_t steps;
  std::int32_t locations, slots; // slot 0 is where all end
};

// The number of parameters that are replayed together.
constexpr int question_count = 8;

// For each parameter, a time and how fast it grows with the parameter.
struct alignas(64) Lines {
  double time[question_count], slope[question_count];
};

// The time that one unit of an edge of a group adds, and the value that disables waiting for it: 0 or minus
// infinity.
struct alignas(64) UnitOf {
  double time[question_count], slope[question_count], absent[question_count];
};

// The state of a replay: the lines of locations and slots.
struct Replay {
  const UnitOf *groups;
  Lines *now, *slots;
};

} // namespace haloscope::explain
