// Packs instances as the recorder does: begin, duration and wait of each on standard input, words on
// standard output, 64 bits each.
#include "watch/counting/series.hpp"

#include <array>
#include <cstdio>

int main() {
  std::array<std::uint64_t, 3> instance{};
  std::uint64_t end = 0;
  while (std::fread(instance.data(), sizeof instance, 1, stdin) == 1) {
    const std::uint64_t packed = haloscope::watch::pack_instance(end, instance[0], instance[1], instance[2]);
    if (std::fwrite(&packed, sizeof packed, 1, stdout) != 1) return 1;
  }
}
