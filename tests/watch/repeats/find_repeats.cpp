// What the recorder makes of a sequence: reads symbols (32 bits each), writes the packed rules.
// Compiled with the recorder's own files.
#include "watch/trace/repeats.hpp"

#include <cstdint>
#include <cstdio>

int main() {
  haloscope::watch::trace::Repeats repeats;
  std::uint32_t symbol = 0;
  while (std::fread(&symbol, sizeof symbol, 1, stdin) == 1) repeats.append(symbol);
  const auto packed = repeats.pack();
  return std::fwrite(packed.data(), 1, packed.size(), stdout) == packed.size() ? 0 : 1;
}
