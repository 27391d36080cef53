#include "compress.hpp"

#include <array>
#include <dlfcn.h>

namespace haloscope::watch {

namespace {

using Compress = int (*)(unsigned char *, unsigned long *, const unsigned char *, unsigned long, int);
using Bound = unsigned long (*)(unsigned long);

struct Zlib {
  Compress compress = nullptr;
  Bound bound = nullptr;

  Zlib() {
    void *library = dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    compress = reinterpret_cast<Compress>(dlsym(library, "compress2"));
    bound = reinterpret_cast<Bound>(dlsym(library, "compressBound"));
  }
};

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); i++) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = (value & 1U) != 0 ? 0xEDB8'8320U ^ value >> 1U : value >> 1U;
    table[i] = value;
  }
  return table;
}();

} // namespace

std::vector<unsigned char> deflate(std::span<const unsigned char> data) {
  static const Zlib zlib;
  if (zlib.compress == nullptr || zlib.bound == nullptr) return {};
  unsigned long size = zlib.bound(data.size());
  std::vector<unsigned char> result(size);
  // Level 1: most of the gain comes from the shuffling, and MPI_Finalize waits for this.
  if (zlib.compress(result.data(), &size, data.data(), data.size(), 1) != 0 || size >= data.size()) return {};
  result.resize(size);
  return result;
}

std::uint32_t crc32(std::span<const unsigned char> data, std::uint32_t start) {
  std::uint32_t value = ~start;
  for (const unsigned char byte : data) value = crc_table[(value ^ byte) & 0xFFU] ^ value >> 8U;
  return ~value;
}

} // namespace haloscope::watch
