// A rank's estimate of the cost of a poll, without MPI. Reads "items budget item n", where item is in
// seconds, then the seconds of n polls without result. Prints the items of a chunk after each poll.
#include "hide/overlap/overlap.hpp"

#include <cstdio>
#include <iostream>

int main() {
  std::size_t items = 0;
  double item = 0;
  int polls = 0;
  haloscope_overlap_settings settings = haloscope_overlap_defaults();
  settings.policy = HALOSCOPE_OVERLAP_ADAPTIVE;
  std::cin >> items >> settings.budget >> item >> polls;
  haloscope::overlap::Phase phase{settings, items};
  phase.worked(items, item * static_cast<double>(items));
  for (int i = 0; i < polls; i++) {
    double seconds = 0;
    std::cin >> seconds;
    phase.polled(seconds);
    std::printf("%zu\n", phase.chunk());
  }
  return 0;
}
