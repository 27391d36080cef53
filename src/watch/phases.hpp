// Iterations of programs that mark nothing, recognised from what they call, and made regions of.
//
// Each call leaves what tells it from others in a ring. Now and then the ring is searched for what repeats
// (pattern.hpp). From then on the functions called since the end of the last iteration, as one number, tell
// where the next one ends. If none ends for long, the ring is searched again.
#pragma once

#include "watch/pattern.hpp"
#include "watch/recording.hpp"
#include "watch/stretches.hpp"

#include <array>
#include <vector>

namespace haloscope::watch {

struct Phases {
  struct Call {
    std::uint16_t function;
    std::uint16_t sends; // of the thread so far, their lowest bits
    std::int32_t partner;
    std::uint64_t bytes;  // that the thread has sent so far
    std::uint32_t what;   // number of requests, ~0: a collective
    std::uint32_t counts; // iterations that were counted as ended by it
    std::uint64_t tick;
  };
  static constexpr std::size_t remembered = 8192;
  static constexpr std::size_t place_of(std::uint64_t functions) noexcept { return functions >> 55U; }

  std::uint64_t calls = 0;                // so far
  std::uint64_t pause = 32;               // when there are so many, something is to be done
  std::uint64_t functions = 0;            // since the last iteration's end
  std::array<std::uint64_t, 512> forms{}; // of iterations, at place_of
  std::uint64_t sends = 0, bytes = 0; // of the regions that the thread was in before, less those of this one
  std::array<Call, remembered> ring;  // not cleared: untouched memory costs nothing

  // From here on for phases.cpp alone.
  PhaseRecord *record = nullptr;      // of the phase that is running, or that was last
  bool is_followed = false;           // a phase is running: its regions are open
  bool is_inside = false;             // the region of an iteration is open
  std::uint64_t end = 0;              // number of calls at the last iteration's end
  std::size_t before = 0;             // calls of an iteration before the first whole one of this stretch
  std::size_t longest = 0;            // calls of an iteration
  std::vector<std::uint16_t> typical; // functions of an iteration
  bool is_self_similar = false;       // it is like itself from another call on
  ClockPair started{};
  std::uint64_t ticks_a_call = 0; // that the last search took
  std::uint64_t searched = 0;     // ticks that searches took
};

// Starts looking, in a thread that has recorded nothing yet.
void start_phases(Recorder &to) noexcept;
// The program marks regions itself: those are better.
void give_up_phases(Recorder &to) noexcept;
// Before all regions are ended.
void finish_phases(Recorder &to) noexcept;

} // namespace haloscope::watch
