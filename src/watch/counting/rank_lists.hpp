// Lists of world ranks, in the order of a communicator's ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace haloscope::watch {

inline std::uint64_t hash_members(const std::vector<int> &ranks, bool inter) {
  std::uint64_t hash = inter ? 0x1234'5678'9ABC'DEF1U : 0xCBF2'9CE4'8422'2325U;
  for (const int rank : ranks) hash = (hash ^ static_cast<std::uint32_t>(rank)) * 0x0000'0100'0000'01B3U;
  return hash;
}

inline bool is_identity(const std::vector<int> &ranks) {
  for (std::size_t i = 0; i < ranks.size(); i++)
    if (ranks[i] != static_cast<int>(i)) return false;
  return true;
}

// Of a list that is not empty: the distance of neighbours in it, if all are the same.
inline std::optional<int> even_stride(const std::vector<int> &ranks) {
  const int stride = ranks.size() == 1 ? 1 : ranks[1] - ranks[0];
  bool is_even = stride != 0;
  for (std::size_t i = 1; i < ranks.size(); i++) is_even = is_even && ranks[i] - ranks[i - 1] == stride;
  return is_even ? std::optional{stride} : std::nullopt;
}

} // namespace haloscope::watch
