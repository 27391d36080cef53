// A rank that receives its input and sends contributions, and the partner that waits for these, without MPI.
// Reads "informed epsilon late n", then n times the seconds until the input arrives. All independent work
// takes one second on either rank; contributions arrive `late` after dependent items. Prints the rank's α and
// the partner's seconds of waiting, of each run. The partner's α does not matter, as it always works one
// second.
#include "hide/overlap/overlap.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

int main() {
  constexpr std::size_t items = 1000;
  int told = 0, runs = 0;
  double late = 0, waited = 0;
  haloscope_overlap_settings settings = haloscope_overlap_defaults();
  std::cin >> told >> settings.epsilon >> late >> runs;
  settings.policy = HALOSCOPE_OVERLAP_DYNAMIC;
  haloscope::overlap::Phase phase{settings, items};
  for (int i = 0; i < runs; i++) {
    double input = 0;
    std::cin >> input;
    haloscope_overlap_times times{};
    times.alpha = phase.alpha();
    const double first = static_cast<double>(haloscope_overlap_split(items, times.alpha)) / items;
    times.input_wait = std::max(0.0, input - first);
    if (told != 0) times.partner_wait = waited; // in the run before
    waited = std::max(0.0, first + times.input_wait + late - 1);
    std::printf("%.6f %.6f\n", times.alpha, waited);
    phase.learn(times);
  }
  return 0;
}
