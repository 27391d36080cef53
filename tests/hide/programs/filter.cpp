// The filter of regimes on durations from standard input: "family K start… transition… parameters… n
// values…". Prints, for each value, the probabilities of the regimes after it was seen, and those for the
// next one.
#include "regimes.hpp"

#include <cstdio>
#include <iostream>

int main() {
  int family = 0, count = 0, values = 0;
  std::cin >> family >> count;
  const auto states = static_cast<std::size_t>(count);
  std::vector<double> start(states), transition(states * states), parameters(states * 3);
  for (auto *numbers : {&start, &transition, &parameters})
    for (double &number : *numbers) std::cin >> number;
  haloscope::overlap::Filter filter{{static_cast<haloscope_overlap_family>(family), count, start.data(),
                                     transition.data(), parameters.data()}};
  std::cin >> values;
  for (int i = 0; i < values; i++) {
    double seconds = 0;
    std::cin >> seconds;
    filter.see(seconds);
    for (const auto *row : {&filter.last(), &filter.next()})
      for (const double probability : *row) std::printf("%.15g ", probability);
    std::puts("");
  }
  return 0;
}
