// Says how many iterations are found in a sequence of calls: lines of function, bytes and microseconds.
#include "watch/pattern.hpp"

#include <cstdio>

int main() {
  using namespace haloscope::watch;
  std::vector<Seen> calls;
  unsigned function = 0, bytes = 0;
  unsigned long long tick = 0, after = 0;
  while (std::scanf("%u %u %llu", &function, &bytes, &after) == 3)
    calls.push_back({function * 1'000'003U + bytes, function, static_cast<std::uint16_t>(function), false, true,
                     tick += after});
  const auto found = find_pattern(calls);
  if (!found) {
    std::printf("0 0\n");
    return 0;
  }
  // The first end is that of a whole iteration if one lies before it.
  const std::size_t length = found->forms.front().length;
  std::printf("%zu %zu\n", found->ends.size() - (found->ends.front() + 1 >= length ? 0 : 1), length);
}
