// Files without a name, for memory that processes share: nothing is left behind however a program ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unistd.h>
#include <utility>

namespace haloscope::halo {

inline constexpr std::size_t page = 4096, large_page = std::size_t{2} << 20;

// The first bytes of a file, by which it is recognised.
using Mark = std::array<std::uint64_t, 2>;

class File {
public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File &operator=(File &&other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] bool open() const noexcept { return descriptor_ >= 0; }

private:
  int descriptor_;
};

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

Mark random_mark() noexcept;

// The file has the wanted size, which takes no memory yet, and begins with the mark.
bool prepare(const File &file, std::size_t bytes, const Mark &mark) noexcept;

[[nodiscard]] bool has(const File &file, const Mark &mark) noexcept;

// The file that another process of this user has open, if it is the one with this mark.
[[nodiscard]] File opened_by(std::int64_t process, std::int64_t descriptor, const Mark &mark) noexcept;

// An unguessable name in /dev/shm that contains the mark of the file.
[[nodiscard]] std::array<char, 64> shared_name(const Mark &mark) noexcept;

// A mapping that large pages fit into, if it is large; private memory without a file. Null without space.
[[nodiscard]] std::byte *map(const File &file, std::size_t bytes) noexcept;

// Gets the pages now, so that running out of memory is a result and no signal, and they are on the owner's
// node.
bool populate(const File &file, std::byte *begin, std::size_t offset, std::size_t bytes) noexcept;

} // namespace haloscope::halo
