// Rows of y that have to be 0 before the items that add to them first: cleared piece by piece, so that
// they are still in the cache when they are added to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem::kernels {

class Clears {
public:
  static constexpr std::size_t group = 32; // items

  // The item that touches each row first; −1: none. Rows that are stored first, not added to, are left out.
  Clears(std::size_t items, std::span<const std::int32_t> first_item, std::span<const std::uint8_t> stored);
  Clears() = default;

  // Before item `item` runs.
  void run(std::size_t item, double *y) const {
    if (item % group == 0 && !begins_.empty()) clear(item / group, y);
  }

private:
  struct Range {
    std::int32_t first, count;
  };
  void clear(std::size_t which, double *y) const;
  std::vector<Range> ranges_;
  std::vector<std::size_t> begins_; // of a group's ranges
};

} // namespace haloscope::fem::kernels
