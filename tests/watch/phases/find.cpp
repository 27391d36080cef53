// Says how many iterations are found in a sequence of calls: lines of function, bytes and microseconds.
#include "watch/pattern.hpp"

#include <algorithm>
#include <iostream>

int main() {
  using namespace haloscope::watch;
  std::vector<Seen> calls;
  std::uint32_t function = 0, bytes = 0;
  std::uint64_t tick = 0, after = 0;
  while (std::cin >> function >> bytes >> after)
    calls.push_back({function * 1'000'003U + bytes, function, static_cast<std::uint16_t>(function), false,
                     true, tick += after});
  const auto found = find_pattern(calls);
  if (!found) {
    std::cout << "0 0\n";
    return 0;
  }
  const std::size_t length = std::max<std::size_t>(found->forms.front().length, 1);
  // What is begun at one end and lacks at the other is one more (phase_count.cpp).
  const auto typical = [&](std::size_t i) { return calls[found->example - length + i].function; };
  std::size_t before = 0, behind = 0;
  const std::size_t first = found->ends.front() + 1, last = found->ends.back() + 1;
  while (before < length && before < first &&
         calls[first - 1 - before].function == typical(length - 1 - before))
    before++;
  while (behind < length && last + behind < calls.size() && calls[last + behind].function == typical(behind))
    behind++;
  std::cout << found->ends.size() - 1 + (before + behind) / length << " " << length << "\n";
}
