// Iterations of programs without markers, recognised by their calls, and recorded as regions.
//
// Each call leaves its features in a ring. The ring is searched for repetitions at intervals (pattern.hpp).
// After a pattern is found, the calls since the end of the last iteration are combined into one number, which
// shows where the next iteration ends. If none ends for a long time, the ring is searched again.
#pragma once

#include "watch/phases/observe_call.hpp"
#include "watch/phases/pattern.hpp"
#include "watch/phases/stretches.hpp"
#include "watch/records/recorder.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace haloscope::watch {

struct Phases {
  struct Call {
    std::uint16_t function;
    std::uint16_t sends; // of the thread so far, their lowest bits
    std::int32_t partner;
    std::uint64_t bytes;  // that the thread has sent so far
    std::uint32_t what;   // number of requests, or is_a_collective (phase_view.hpp)
    std::uint32_t counts; // iterations that were counted as ended by it
    std::uint64_t tick;
    std::uintptr_t from; // where it returns to
  };
  // Symbols of the collectives' view as sums, so that any stretch of them is one subtraction away.
  struct Window {
    static constexpr std::size_t most = 256;
    std::array<std::uint64_t, most> sums{}; // of all symbols up to one
    std::uint64_t count = 0, end = 0;       // symbols so far, and at an iteration's end
    std::uint64_t power = 1;                // stretch_factor to the form's length
    std::uint64_t exchanged = 0;            // by which functions, since the last collective
    std::uint32_t before = 0;               // what the last collective had
    bool is_visited = false;                // the newest call is of the function that iterations end with
  };
  static constexpr std::size_t remembered = 8192;
  static constexpr std::size_t place_of(std::uint64_t functions) noexcept { return functions >> 55U; }

  std::uint64_t calls = 0;                // so far
  std::uint64_t pause = 32;               // when there are so many, something is to be done
  std::uint64_t functions = 0;            // since the last iteration's end
  std::array<std::uint64_t, 512> forms{}; // of iterations, at place_of
  View view = View::calls;
  // Sums of the thread's earlier regions, minus those of this one.
  std::uint64_t sends = 0, bytes = 0, collective_bytes = 0;
  std::array<Call, remembered> ring; // not cleared: untouched memory costs nothing

  // The members below are for phases.cpp and its parts.
  Window window{};
  std::uint64_t form = 0;             // the typical one
  bool is_late = false;               // an iteration ended with the call before the newest
  PhaseRecord *record = nullptr;      // of the phase that is running, or that was last
  bool is_followed = false;           // a phase is running: its regions are open
  bool is_inside = false;             // the region of an iteration is open
  std::uint64_t end = 0;              // number of calls at the last iteration's end
  std::size_t before = 0;             // calls of an iteration before the first whole one of this stretch
  std::size_t longest = 0;            // symbols of an iteration
  std::uint64_t known_after = 0;      // iterations when its forms were learnt
  std::uint64_t guessed = 0;          // forms that were added since
  std::vector<std::uint16_t> typical; // symbols of an iteration
  Code last{};                        // in the view of functions: that which each iteration ends with
  bool is_self_similar = false;       // it is like itself from another call on
  ClockPair started{};
  std::uint64_t ticks_a_call = 0; // that the last search took
  std::uint64_t searched = 0;     // ticks that searches took
  RegionMarkers markers{};
};

constexpr bool is_named(std::string_view name, std::initializer_list<std::string_view> among) {
  return std::ranges::find(among, name) != among.end();
}
// A property of each function, by its number + 1.
template <class Condition>
constexpr std::array<bool, function_count + 1> functions_that(Condition condition) {
  std::array<bool, function_count + 1> result{};
  for (unsigned i = 0; i < function_count; i++)
    result[i + 1] = condition(std::string_view{function_names[i]});
  return result;
}

} // namespace haloscope::watch
