#pragma once

#include <cstdint>

namespace haloscope::watch {

// A truth value in a record. A wild program may have written any byte there, and of a bool only two are
// values.
class Flag {
public:
  constexpr Flag() noexcept = default;
  // NOLINTNEXTLINE(misc-explicit-constructor): it replaces a bool
  constexpr Flag(bool value) noexcept : byte_(value ? 1 : 0) {}
  // NOLINTNEXTLINE(misc-explicit-constructor)
  constexpr operator bool() const noexcept { return byte_ != 0; }

private:
  std::uint8_t byte_;
};

} // namespace haloscope::watch
