// Numbers of a trace as few bytes, docs/format.md "trace".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::watch::trace {

using Bytes = std::vector<unsigned char>;

// Seven bits a byte, the lowest first; all but the last byte have the top bit.
inline void put_number(Bytes &to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) to.push_back(static_cast<unsigned char>(value | 0x80U));
  to.push_back(static_cast<unsigned char>(value));
}

// Removes the next number from `from`. Missing bytes are read as zeros.
inline std::uint64_t take_number(std::span<const unsigned char> &from) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !from.empty() && shift < 64; shift += 7) {
    const unsigned char byte = from.front();
    from = from.subspan(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// A column of numbers: its width, its encoding (0: plain, 1: zlib), its length in bytes (32 bits) and the
// bytes. The lowest bytes of all values come first, then the second bytes, up to the width.
void put_column(Bytes &to, std::span<const std::uint64_t> values);

// Bytes as they are or packed: encoding and size as of a column, and them.
void put_bytes(Bytes &to, const Bytes &bytes);

// A length to within 1 %: exact below 128, else rounded down to seven bits behind the leading one.
inline std::uint64_t coarse(std::uint64_t length) noexcept {
  if (length < 128) return length;
  const unsigned shift = 56U - static_cast<unsigned>(__builtin_clzll(length)); // leading one to bit 7
  return static_cast<std::uint64_t>(shift + 1) << 7U | (length >> shift & 127U);
}
inline std::uint64_t length_of_coarse(std::uint64_t code) noexcept {
  return code < 128 ? code : (128U + (code & 127U)) << ((code >> 7U) - 1);
}

} // namespace haloscope::watch::trace
