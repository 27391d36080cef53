// Protocol buffers' wire format, as much of it as a trace needs, written into a buffer of fixed size.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace haloscope::exporting {

// A message with nested messages. It grows once and is used again, so an event allocates nothing.
class Message {
public:
  void clear() { bytes_.clear(); }
  bool empty() const { return bytes_.empty(); }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

  void number(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3);
    varint(value);
  }

  void fixed(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }

  void text(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }

  void message(uint32_t field, const Message &inner) { text(field, inner.view()); }

private:
  void varint(uint64_t value) {
    while (value > 127) {
      bytes_.push_back(static_cast<char>((value & 127) | 128));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::vector<char> bytes_;
};

// Writes to an open file by large parts. After an error it writes nothing more.
class Output {
public:
  explicit Output(int file) : file_(file) { bytes_.reserve(part_bytes); }

  void write(std::string_view text) {
    if (bytes_.size() + text.size() > part_bytes) flush();
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }

  // Returns errno of the first write that failed, or 0.
  int flush() {
    std::span<const char> left(bytes_);
    while (!left.empty() && error_ == 0) {
      const ssize_t done = ::write(file_, left.data(), left.size());
      if (done > 0)
        left = left.subspan(static_cast<size_t>(done));
      else if (errno != EINTR)
        error_ = errno;
    }
    bytes_.clear();
    return error_;
  }

  int error() const { return error_; }

private:
  static constexpr size_t part_bytes = 1 << 20;
  int file_;
  int error_ = 0;
  std::vector<char> bytes_;
};

} // namespace haloscope::exporting
