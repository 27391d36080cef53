// What a rank takes for the price of a poll, without MPI: "items budget item n", the seconds of an item, then
// those of n polls that found nothing. Prints the items of a chunk after each.
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
