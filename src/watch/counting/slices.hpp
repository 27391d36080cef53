// Sums of what a thread did, for slices of time.
#pragma once

#include "watch/records/records.hpp"

#include <algorithm>

namespace haloscope::watch {

template <class Combine> Slice combine_slices(const Slice &a, const Slice &b, Combine &&combine) noexcept {
  Slice result = a;
  for (const auto member : slice_sums) result.*member = combine(a.*member, b.*member);
  return result;
}

inline bool is_empty(const Slice &slice) noexcept {
  bool empty = true;
  combine_slices(slice, slice, [&](std::uint64_t x, std::uint64_t) { return empty &= x == 0, x; });
  return empty;
}

// `b` follows `a`.
inline Slice join_slices(const Slice &a, const Slice &b) noexcept {
  Slice result = combine_slices(a, b, [](std::uint64_t x, std::uint64_t y) { return x + y; });
  result.end = b.end;
  return result;
}

inline Slice difference(const Slice &after, const Slice &before) noexcept {
  return combine_slices(after, before, [](std::uint64_t x, std::uint64_t y) { return x - std::min(x, y); });
}

// A program may have written over its records: no more than there is room for.
inline std::uint64_t count_of(const Slices &slices) noexcept {
  return std::min<std::uint64_t>(slices.count, Slices::most);
}

inline Slice sum_of(const Slices &slices) noexcept {
  Slice sum{};
  for (std::uint64_t i = 0; i < count_of(slices); i++) sum = join_slices(sum, slices.slices[i]);
  return sum;
}

inline std::uint64_t end_of(const Slices &slices) noexcept {
  const std::uint64_t count = count_of(slices);
  return count == 0 ? slices.begin : slices.slices[count - 1].end;
}

inline void add(Slice &sum, const Node &node) noexcept {
  Slice own{};
  own.sends = node.now[sends];
  own.bytes_sent = node.now[bytes_sent];
  own.recvs = node.now[recvs];
  own.bytes_recv = node.now[bytes_recv];
  own.colls = node.now[colls];
  set_counted(own, node);
  sum = join_slices(sum, own);
}

// To the sums of the whole thread.
inline void add_off_cpu(Slice &sums, const ThreadRecord &thread) noexcept {
  sums.off_cpu_ticks += thread.off_cpu_ticks;
  sums.core_wait_ticks += thread.core_wait_ticks;
}

} // namespace haloscope::watch
