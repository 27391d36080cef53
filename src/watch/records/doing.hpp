// The call that a thread is in, in its live record: others can see it while it lasts.
//
// Budget: at most 1 ns a call. It costs a few stores of what is in registers anyway; what takes longer to
// find out (a communicator's name, a world rank) is left to who asks.
#pragma once

#include "watch/records/functions.hpp"
#include "watch/records/memory_kind.hpp"

#include <cstdint>

namespace haloscope::watch {

// Written by the thread itself alone. What `what` does not name is of an earlier call.
struct Doing {
  enum What : std::uint16_t {
    other,      // only the function is known
    send,       // to `partner`
    receive,    // from `partner`, which may be any
    exchange,   // to `partner` and from `source`
    collective, // `partner` is the root, if there is one
    one_sided,  // on `partner`
    requests,   // `count` of them; the rest is of the first that is active
  };
  std::uint16_t call = 0; // Function + 1; 0: the thread is outside MPI
  What what = other;
  std::int32_t partner = 0;       // as the communicator calls it
  std::int32_t tag = 0;           // no_number: there is none, or it is not known
  std::int32_t source = 0;        // as partner
  std::uint32_t communicator = 0; // its number; 0: not known yet
  std::uint32_t count = 0;
  std::uint64_t bytes = 0; // ~0: not known
  std::uint64_t since =
      0; // tick; of an earlier call (before the thread's newest stamp) if this one is not stamped
};
// A recorder without it is built for measurements of what it costs: benchmarks/watch/parts.py.
#if defined(HALOSCOPE_WITHOUT_CURRENT_CALL)
inline constexpr bool keeps_current_call = false;
#else
inline constexpr bool keeps_current_call = true;
#endif
inline constexpr std::int32_t no_number = -0x7FFF'FFFF - 1;
inline constexpr std::uint64_t unknown_bytes = ~std::uint64_t{0};

// What a wrapper was called with that is the same in all families: the function, ranks and tag as given,
// from where it was called, and where its buffers lie (`into`: of one that sends and receives, what it
// receives).
struct Invocation {
  Function function;
  std::int32_t partner = no_number, tag = no_number, source = no_number;
  const void *caller = nullptr; // HALOSCOPE_CALLER
  Memory memory = Memory::host, into = Memory::host;

  // NOLINTNEXTLINE(misc-explicit-constructor): families of functions hand it on as what it is
  constexpr operator Function() const noexcept { return function; }
};

} // namespace haloscope::watch
