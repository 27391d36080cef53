// Says how many iterations are found in a sequence of calls: lines of function, bytes, microseconds, and the
// function of the program that calls it, 0 if that is not known. From 100 on, functions are those of
// messages; the others are collectives.
#include "watch/phases/found_phase.hpp"

#include <algorithm>
#include <iostream>

int main() {
  using namespace haloscope::watch;
  std::vector<Seen> calls;
  std::uint32_t function = 0, bytes = 0, code = 0;
  std::uint64_t tick = 0, after = 0;
  while (std::cin >> function >> bytes >> after >> code) {
    tick += after;
    const auto number = static_cast<std::uint16_t>(function);
    const std::uint16_t symbol = call_symbol(number, code);
    calls.push_back({.exact = symbol * 1'000'003U + bytes,
                     .coarse = symbol,
                     .symbol = symbol,
                     .function = number,
                     .whole = collective_symbol(number, 0, bytes),
                     .is_blocking = false,
                     .is_collective = function < 100,
                     .tick = tick,
                     .place = static_cast<std::uint32_t>(calls.size() + 1),
                     .sent = bytes,
                     .from = code,
                     .code = code});
  }
  auto pattern = find_pattern(calls);
  if (!pattern) {
    std::cout << "0 0\n";
    return 0;
  }
  const FoundPhase found{std::move(*pattern), 0};
  // An iteration that begins at one end only is one more (phase_count.cpp).
  const auto typical = found.typical();
  const std::size_t last = found.pattern.ends.size() - 1;
  const bool is_complete = found.pattern.view != View::exchanges;
  const std::size_t more =
      found.calls_before(0, typical) + (is_complete ? found.calls_behind(last, typical) : 0);
  std::cout << last + more / std::max<std::size_t>(typical.size(), 1) << ' ' << found.typical_calls() << '\n';
}
