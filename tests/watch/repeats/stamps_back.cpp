// Times that the recorder keeps of begins and ends of regions, whose ticks are read: prints when each is over
// after that, as who reads the trace adds them up. Compiled with the recorder's own files.
#include "watch/trace/encoder.hpp"

#include <cstdio>
#include <iostream>
#include <memory>

int main() {
  using namespace haloscope::watch;
  const Arena arena;
  trace::Encoder encoder{arena, 0, 100, false};
  const auto block = std::make_unique<TraceBlock>();
  unsigned used = 0;
  for (unsigned long long tick = 0; std::cin >> tick; used++)
    block->units[used] = {tick, used % 2 == 0 ? UnitType::enter : UnitType::leave, {}, 0, 0};
  block->used = used;
  encoder.take(*block);
  unsigned long long now = 100;
  for (const auto gap : encoder.piece().gaps) std::printf("%llu\n", now += gap);
  return 0;
}
