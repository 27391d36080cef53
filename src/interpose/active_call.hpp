// Calls that were left without a return: by longjmp from an error handler, another callback, or a signal
// handler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// Of a wrapper, that a call came from; and the return address, as long as the wrapper has not returned.
#if defined(__x86_64__)
#define HALOSCOPE_CALLER __builtin_dwarf_cfa() // the return address lies below
#else
#define HALOSCOPE_CALLER __builtin_return_address(0)
#endif

namespace haloscope::interpose {

inline std::uintptr_t return_address(const void *caller) noexcept {
#if defined(__x86_64__)
  return caller == nullptr ? 0 : static_cast<const std::uintptr_t *>(caller)[-1];
#else
  return reinterpret_cast<std::uintptr_t>(caller);
#endif
}

// Whether a call that returns to `to` has not been left. `own`: the return address of the call that asks.
// Walks the stack, also from a signal's stack to the one below. Returns true if the stack has no known end.
[[gnu::noinline, gnu::cold]] bool is_active_call(std::uintptr_t to, std::uintptr_t own) noexcept;

// The calls of a thread that were found to be inside other calls. Most of them are made again.
class InnerCalls {
public:
  // Whether the call with this HALOSCOPE_CALLER is inside of the one that returns to `outer`: that one has
  // not been left.
  [[gnu::noinline, gnu::cold]] bool is_inside(std::uintptr_t outer, const void *caller) noexcept;

private:
  struct Call {
    std::uintptr_t outer, own; // return addresses
    const void *caller;
    bool operator==(const Call &) const = default;
  };
  std::array<Call, 8> known_{};
};

} // namespace haloscope::interpose
