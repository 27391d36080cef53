// The kind of memory of a buffer.
#pragma once

#include <cstdint>

namespace haloscope::watch {

// managed: the GPU's runtime moves it between host and device by itself.
enum class Memory : std::uint8_t { host, device, managed };
inline constexpr unsigned memory_bits = 2;

inline std::uint64_t number_of(Memory memory) noexcept { return static_cast<std::uint64_t>(memory); }
inline Memory memory_of_number(std::uint64_t number) noexcept {
  constexpr auto most = static_cast<std::uint64_t>(Memory::managed);
  return static_cast<Memory>(number < most ? number : most);
}
inline const char *name_of(Memory memory) noexcept {
  constexpr const char *names[] = {"host", "device", "managed"};
  return names[static_cast<unsigned>(memory)];
}

} // namespace haloscope::watch
