#include "watch/records/compress.hpp"

#include <array>
#include <dlfcn.h>

namespace haloscope::watch {

namespace {

// Declarations of zlib.h: systems that have the library may have no header.
struct Stream {
  const unsigned char *next_in;
  unsigned available_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned available_out;
  unsigned long total_out;
  const char *message;
  void *state, *allocate, *free, *opaque;
  int data_type;
  unsigned long adler, reserved;
};
constexpr int deflated = 8, window_bits = 15, memory_level = 8, finish = 4, stream_end = 1;
enum Strategy { by_default = 0, runs_only = 3 };

struct Zlib {
  int (*init)(Stream *, int, int, int, int, int, const char *, int) = nullptr;
  int (*deflate)(Stream *, int) = nullptr;
  int (*end)(Stream *) = nullptr;

  Zlib() {
    void *library = dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    init = reinterpret_cast<decltype(init)>(dlsym(library, "deflateInit2_"));
    deflate = reinterpret_cast<decltype(deflate)>(dlsym(library, "deflate"));
    end = reinterpret_cast<decltype(end)>(dlsym(library, "deflateEnd"));
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

std::vector<unsigned char> deflate(std::span<const unsigned char> data, bool noise) {
  static const Zlib zlib;
  if (zlib.init == nullptr || zlib.deflate == nullptr || zlib.end == nullptr) return {};
  Stream stream{};
  // Level 1: most of the gain comes from the shuffling, and MPI_Finalize waits for this.
  if (zlib.init(&stream, 1, deflated, window_bits, memory_level, noise ? runs_only : by_default, "1",
                sizeof stream) != 0)
    return {};
  // The result has the size of the data, so deflate fails if the data do not become smaller.
  std::vector<unsigned char> result(data.size());
  stream.next_in = data.data();
  stream.available_in = static_cast<unsigned>(data.size());
  stream.next_out = result.data();
  stream.available_out = static_cast<unsigned>(result.size());
  const int outcome = zlib.deflate(&stream, finish);
  result.resize(outcome == stream_end ? stream.total_out : 0);
  zlib.end(&stream);
  return result;
}

std::uint32_t crc32(std::span<const unsigned char> data, std::uint32_t start) {
  std::uint32_t value = ~start;
  for (const unsigned char byte : data) value = crc_table[(value ^ byte) & 0xFFU] ^ value >> 8U;
  return ~value;
}

} // namespace haloscope::watch
