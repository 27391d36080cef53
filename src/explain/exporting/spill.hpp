// Numbers by row, in a file: the state per row of a trace must not take memory.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace haloscope::exporting {

// All are 0 at first. Some blocks are in memory; rows that are looked at one after the other cost little.
// Functions throw std::system_error where the file cannot be read or written.
class Spill {
public:
  // Uses `file` from byte `from` on; there is nothing there.
  Spill(int file, int64_t from) : file_(file), from_(from) {}

  int64_t get(int64_t row) { return of(row)[static_cast<size_t>(row % rows)]; }

  void set(int64_t row, int64_t value) {
    of(row)[static_cast<size_t>(row % rows)] = value;
    blocks_[place(row)].is_changed = true;
  }

private:
  static constexpr int64_t rows = 4096, blocks = 64;
  struct Block {
    int64_t number = -1;
    bool is_changed = false;
    std::vector<int64_t> values;
  };

  static size_t place(int64_t row) { return static_cast<size_t>(row / rows % blocks); }

  std::vector<int64_t> &of(int64_t row) {
    Block &block = blocks_[place(row)];
    if (block.number != row / rows) load(block, row / rows);
    return block.values;
  }

  void load(Block &block, int64_t number) {
    if (block.is_changed) save(block);
    block.number = number;
    block.values.assign(rows, 0);
    std::span<std::byte> left = std::as_writable_bytes(std::span(block.values));
    for (off_t at = offset(number); !left.empty();) {
      const ssize_t done = ::pread(file_, left.data(), left.size(), at);
      if (done == 0) return; // nothing was written there
      if (done > 0) {
        left = left.subspan(static_cast<size_t>(done));
        at += done;
      } else if (errno != EINTR) {
        throw std::system_error(errno, std::generic_category());
      }
    }
  }

  void save(Block &block) {
    std::span<const std::byte> left = std::as_bytes(std::span(block.values));
    for (off_t at = offset(block.number); !left.empty();) {
      const ssize_t done = ::pwrite(file_, left.data(), left.size(), at);
      if (done >= 0) {
        left = left.subspan(static_cast<size_t>(done));
        at += done;
      } else if (errno != EINTR) {
        throw std::system_error(errno, std::generic_category());
      }
    }
    block.is_changed = false;
  }

  off_t offset(int64_t number) const {
    return static_cast<off_t>(from_ + number * rows * static_cast<int64_t>(sizeof(int64_t)));
  }

  int file_;
  int64_t from_;
  std::array<Block, blocks> blocks_;
};

} // namespace haloscope::exporting
