// Buffers of messages, from malloc or MPI_Alloc_mem: written before each exchange, read and checked after it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace grid {

class Buffer {
public:
  Buffer(size_t bytes, bool by_mpi) : by_mpi_(by_mpi) {
    const size_t whole = bytes + sizeof(std::uint64_t);
    if (by_mpi)
      MPI_Alloc_mem(static_cast<MPI_Aint>(whole), MPI_INFO_NULL, static_cast<void *>(&memory_));
    else
      memory_ = std::malloc(whole);
    if (memory_) std::memset(memory_, 1, whole); // no page faults later
  }
  ~Buffer() {
    if (by_mpi_ && memory_) MPI_Free_mem(memory_);
    if (!by_mpi_) std::free(memory_);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  [[nodiscard]] void *get() const { return memory_; }

private:
  void *memory_ = nullptr;
  bool by_mpi_;
};

// What a message says is told by its first word; the last bytes of odd sizes are not looked at.
inline void write(void *data, size_t bytes, std::uint64_t first) {
  auto *words = static_cast<std::uint64_t *>(data);
  for (size_t i = 0; i < bytes / sizeof *words; i++) words[i] = first + i;
}

// Reads all; true if it is what `write` wrote.
inline bool read(const void *data, size_t bytes, std::uint64_t first) {
  const auto *words = static_cast<const std::uint64_t *>(data);
  const size_t count = bytes / sizeof *words;
  std::uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += words[i] - i;
  return sum == first * count;
}

} // namespace grid
