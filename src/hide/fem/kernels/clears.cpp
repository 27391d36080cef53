#include "hide/fem/kernels/clears.hpp"

#include <algorithm>

namespace haloscope::fem::kernels {

Clears::Clears(std::size_t items, std::span<const std::int32_t> first_item,
               std::span<const std::uint8_t> stored) {
  const std::size_t groups = std::max<std::size_t>(1, (items + group - 1) / group);
  std::vector<std::vector<Range>> of_group(groups);
  std::size_t current = 0; // a row that no item touches goes with the one before it
  for (std::size_t row = 0; row < first_item.size(); ++row) {
    if (first_item[row] >= 0) current = static_cast<std::size_t>(first_item[row]) / group;
    if (stored[row] != 0) continue;
    auto &ranges = of_group[current];
    const auto at = static_cast<std::int32_t>(row);
    if (!ranges.empty() && ranges.back().first + ranges.back().count == at)
      ++ranges.back().count;
    else
      ranges.push_back({at, 1});
  }
  for (const auto &ranges : of_group) {
    begins_.push_back(ranges_.size());
    ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  }
  begins_.push_back(ranges_.size());
}

void Clears::clear(std::size_t which, double *y) const {
  for (std::size_t i = begins_[which]; i < begins_[which + 1]; ++i)
    std::fill_n(y + ranges_[i].first, ranges_[i].count, 0.0);
}

} // namespace haloscope::fem::kernels
