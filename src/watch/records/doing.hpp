// The call that a thread is in, in its live record, for other processes to read.
//
// Budget: at most 1 ns per call. It costs a few stores of values that are in registers anyway. The reader
// looks up the rest (a communicator's name, a world rank).
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
// A recorder without it is built to measure its cost: benchmarks/watch/parts.py.
#if defined(HALOSCOPE_WITHOUT_CURRENT_CALL)
inline constexpr bool keeps_current_call = false;
#else
inline constexpr bool keeps_current_call = true;
#endif
inline constexpr std::int32_t no_number = -0x7FFF'FFFF - 1;
inline constexpr std::uint64_t unknown_bytes = ~std::uint64_t{0};

// The arguments of a wrapper that all families share: the function, ranks and tag, the caller, and the memory
// of the buffers. `into`: of a call that also receives, the memory of the receive buffer.
struct Invocation {
  Function function;
  std::int32_t partner = no_number, tag = no_number, source = no_number;
  const void *caller = nullptr; // HALOSCOPE_CALLER
  Memory memory = Memory::host, into = Memory::host;

  // NOLINTNEXTLINE(misc-explicit-constructor): families pass it on as a function
  constexpr operator Function() const noexcept { return function; }
};

} // namespace haloscope::watch
