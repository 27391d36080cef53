// What the C++ library that is linked in asks of the newest C library alone: with it here, ours can be loaded
// beside older ones. Nobody else sees it.
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] std::uint32_t arc4random() noexcept;

// glibc 2.36 has it; only std::random_device calls it, which we never do.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) {
  }
  return number;
}
