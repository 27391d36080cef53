// Simulated runs with a policy, without MPI. Reads "policy epsilon stay n", then n times the seconds until
// input and output arrive. All independent work takes one second. The regimes are given: late input, late
// output, and the probability to stay in one. Prints α and the seconds of waiting of each run.
#include "hide/overlap/overlap.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

int main() {
  constexpr std::size_t items = 1000;
  double stay = 0;
  int policy = 0, runs = 0;
  haloscope_overlap_settings settings = haloscope_overlap_defaults();
  std::cin >> policy >> settings.epsilon >> stay >> runs;
  constexpr double start[2] = {0.5, 0.5};
  const double transition[4] = {stay, 1 - stay, 1 - stay, stay};
  constexpr double input[6] = {0.7, 0.05, 0, 0.1, 0.05, 0}, output[6] = {0.1, 0.05, 0, 0.7, 0.05, 0};
  const haloscope_overlap_regimes model{
      HALOSCOPE_OVERLAP_GAUSSIAN, 2, start, transition, nullptr, input, output};
  settings.policy = static_cast<haloscope_overlap_policy>(policy);
  settings.regimes = &model;
  haloscope::overlap::Phase phase{settings, items};
  for (int i = 0; i < runs; i++) {
    double late_input = 0, late_output = 0;
    std::cin >> late_input >> late_output;
    haloscope_overlap_times times{};
    times.alpha = phase.alpha();
    const double first = static_cast<double>(haloscope_overlap_split(items, times.alpha)) / items;
    times.input_wait = std::max(0.0, late_input - first);
    times.output_wait = std::max(0.0, late_output - (1 - first));
    times.input_block = first + times.input_wait;
    times.output_block = 1 - first + times.output_wait;
    std::printf("%.6f %.6f\n", times.alpha, times.input_wait + times.output_wait);
    phase.learn(times);
  }
  return 0;
}
