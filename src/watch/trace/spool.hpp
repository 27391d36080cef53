// The trace of a process so far: a file of pieces, each complete or absent. So it can be read after the
// process was killed.
#pragma once

#include "watch/trace/encoder.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace haloscope::watch::trace {

struct SpoolHead {
  static constexpr std::uint32_t expected = 0x4352'5448U; // HTRC
  std::uint32_t magic, checksum;                          // of all that follows
  std::uint32_t thread, symbols, sequence_bytes, time_bytes, gaps, durations;
  std::uint64_t events; // of the sequence
  Progress progress;    // after it
};
static_assert(sizeof(SpoolHead) == 72);

// A piece as it is stored.
struct Spooled {
  SpoolHead head{};
  std::vector<Symbol> symbols;
  Bytes sequence, times;
};

// Ready to be written: times are packed.
Spooled pack(const Piece &piece, std::uint32_t thread, const Progress &progress);

class SpoolWriter {
public:
  // Creates a new file. `is_open` reports errors.
  explicit SpoolWriter(const std::string &path) noexcept;
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter &) = delete;
  SpoolWriter &operator=(const SpoolWriter &) = delete;
  [[nodiscard]] bool is_open() const noexcept { return file_ >= 0; }
  // Returns whether all of it is in the file; if not, none of it is.
  bool add(const Spooled &piece) noexcept;

private:
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// The pieces of a file, in order; the first that is not whole is the end.
class SpoolReader {
public:
  explicit SpoolReader(const std::string &path) noexcept;
  ~SpoolReader();
  SpoolReader(const SpoolReader &) = delete;
  SpoolReader &operator=(const SpoolReader &) = delete;
  bool next(Spooled &piece);

private:
  bool read(void *to, std::size_t bytes) noexcept;
  int file_ = -1;
  std::uint64_t offset_ = 0, size_ = 0;
};

} // namespace haloscope::watch::trace
