// The ways in which a sequence of calls is looked at.
//
// Not every program repeats its calls one by one. Where a mesh is refined, the number of neighbours changes,
// but not the collectives; where lists are rebuilt only if a collective says so, that is what comes and goes.
#pragma once

#include "watch/phases/stretches.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::watch {

enum class View : std::uint8_t {
  calls,       // each of them
  exchanges,   // without collectives
  collectives, // and between two of them, which functions exchange, however often
  functions,   // of the program, that make calls: one after the other, however often each calls (visits.hpp)
};

// One call, or what a view has in its place.
struct Seen {
  std::uint32_t exact;    // function, partner, bytes, and what was sent since the call before
  std::uint32_t coarse;   // the same without bytes
  std::uint16_t symbol;   // of the iterations' forms: which function is called from where, in most views
  std::uint16_t function; // alone; in the collectives' view as the symbol
  std::uint16_t whole;    // function, root and bytes of a collective
  bool is_blocking;       // a blocking send or receive
  bool is_collective;
  std::uint64_t tick;
  std::uint32_t place; // one behind it, among all calls
  std::uint64_t sent;  // bytes since the call before
  std::uintptr_t from; // where the call returns to
  std::uintptr_t code; // where the program's function begins that makes it; 0: not known
};
// A function of the program: where the first and the last of its calls return to that were seen.
struct Code {
  std::uintptr_t first, last;
  [[nodiscard]] bool contains(std::uintptr_t from) const noexcept { return from - first <= last - first; }
};

// A call of one function from one place of the program.
constexpr std::uint16_t call_symbol(std::uint16_t function, std::uintptr_t from) noexcept {
  return static_cast<std::uint16_t>(stretch_weight(std::uint64_t{from} << 12U ^ function) >> 48U);
}

// The symbol of a set of functions, a bit each. It is even, and odd for a collective.
constexpr std::uint64_t exchange_bit(std::uint16_t function) noexcept {
  return std::uint64_t{1} << function % 64U;
}
constexpr std::uint16_t exchange_symbol(std::uint64_t functions) noexcept {
  return static_cast<std::uint16_t>(stretch_weight(functions) >> 47U & ~std::uint64_t{1});
}
constexpr std::uint16_t collective_symbol(std::uint16_t function, std::int32_t root,
                                          std::uint32_t bytes) noexcept {
  const std::uint64_t sum =
      (stretch_weight(function) * stretch_factor + stretch_weight(static_cast<std::uint32_t>(root))) *
          stretch_factor +
      stretch_weight(bytes);
  return static_cast<std::uint16_t>(sum >> 47U | 1U);
}

// Return the calls as `view` has them; `calls` have their places.
std::vector<Seen> seen_as(View view, std::span<const Seen> calls);

} // namespace haloscope::watch
