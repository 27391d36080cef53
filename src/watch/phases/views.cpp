#include "watch/phases/views.hpp"

#include <algorithm>
#include <iterator>

namespace haloscope::watch {

namespace {

std::vector<Seen> exchanges_of(std::span<const Seen> calls) {
  std::vector<Seen> seen;
  std::ranges::copy_if(calls, std::back_inserter(seen), [](const Seen &call) { return !call.is_collective; });
  return seen;
}

std::vector<Seen> collectives_of(std::span<const Seen> calls) {
  std::vector<Seen> seen;
  std::uint64_t exchanged = 0; // by which functions, since the last collective
  for (const Seen &call : calls) {
    if (exchanged != 0 && !call.is_collective) seen.pop_back();
    exchanged = call.is_collective ? 0 : exchanged | exchange_bit(call.function);
    Seen one = call;
    one.symbol = call.is_collective ? call.whole : exchange_symbol(exchanged);
    one.exact = one.coarse = one.function = one.symbol;
    one.is_blocking = false;
    seen.push_back(one);
  }
  return seen;
}

} // namespace

std::vector<Seen> seen_as(View view, std::span<const Seen> calls) {
  switch (view) {
  case View::exchanges:
    return exchanges_of(calls);
  case View::collectives:
    return collectives_of(calls);
  case View::calls:
  case View::functions: // visits.cpp
    break;
  }
  return {calls.begin(), calls.end()};
}

} // namespace haloscope::watch
