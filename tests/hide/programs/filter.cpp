// The filter of regimes on runs from standard input: "family K start… transition…", three times "1
// parameters…" or "0", for blocks, input and output, then "n epsilon" and n times "input_block input_wait
// output_block output_wait". Prints for each run the probabilities of the regimes after it, and those for
// the next run.
#include "hide/overlap/regimes.hpp"

#include <cstdio>
#include <iostream>

int main() {
  int family = 0, count = 0, runs = 0;
  double epsilon = 0;
  std::cin >> family >> count;
  const auto states = static_cast<std::size_t>(count);
  const auto numbers = [](std::size_t size) {
    std::vector<double> read(size);
    for (double &number : read) std::cin >> number;
    return read;
  };
  const auto start = numbers(states), transition = numbers(states * states);
  std::vector<double> parameters[3];
  for (auto &of : parameters) {
    int given = 0;
    std::cin >> given;
    if (given != 0) of = numbers(states * 3);
  }
  const auto pointer = [](const std::vector<double> &of) { return of.empty() ? nullptr : of.data(); };
  haloscope::overlap::Filter filter{{static_cast<haloscope_overlap_family>(family), count, start.data(),
                                     transition.data(), pointer(parameters[0]), pointer(parameters[1]),
                                     pointer(parameters[2])}};
  std::cin >> runs >> epsilon;
  for (int i = 0; i < runs; i++) {
    haloscope_overlap_times times{};
    std::cin >> times.input_block >> times.input_wait >> times.output_block >> times.output_wait;
    filter.see(times, epsilon);
    for (const auto *row : {&filter.last(), &filter.next()})
      for (const double probability : *row) std::printf("%.15g ", probability);
    std::puts("");
  }
  return 0;
}
