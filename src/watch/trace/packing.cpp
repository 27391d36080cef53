#include "watch/trace/packing.hpp"

#include "watch/records/compress.hpp"

#include <algorithm>

namespace haloscope::watch::trace {

namespace {

void put_smaller(Bytes &to, const Bytes &bytes, bool noise) {
  const Bytes packed = bytes.empty() ? Bytes{} : deflate(bytes, noise);
  const Bytes &stored = packed.empty() ? bytes : packed;
  to.push_back(packed.empty() ? 0 : 1);
  for (unsigned b = 0; b < 4; b++) to.push_back(static_cast<unsigned char>(stored.size() >> 8U * b));
  to.insert(to.end(), stored.begin(), stored.end());
}

} // namespace

void put_column(Bytes &to, std::span<const std::uint64_t> values) {
  const std::uint64_t most = values.empty() ? 0 : *std::ranges::max_element(values);
  unsigned width = 0;
  while (width < 8 && most >> 8U * width != 0) width++;
  Bytes planes(values.size() * width);
  for (unsigned b = 0; b < width; b++)
    for (std::size_t i = 0; i < values.size(); i++)
      planes[b * values.size() + i] = static_cast<unsigned char>(values[i] >> 8U * b);
  to.push_back(static_cast<unsigned char>(width));
  put_smaller(to, planes, true);
}

void put_bytes(Bytes &to, const Bytes &bytes) { put_smaller(to, bytes, false); }

} // namespace haloscope::watch::trace
