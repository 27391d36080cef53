// Work items of unlike cost in runs of about the same: what the overlap library splits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace haloscope::fem {

class Units {
public:
  // As many as can be, each at least as large as the largest item.
  explicit Units(std::span<const float> weights) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double largest = weights.empty() ? 1 : std::ranges::max(weights);
    const auto count = static_cast<std::size_t>(total / largest);
    double sum = 0;
    for (std::size_t item = 0; item < weights.size(); item++) {
      if (sum * static_cast<double>(count) >= static_cast<double>(begins_.size()) * total)
        begins_.push_back(item);
      sum += weights[item];
    }
    begins_.push_back(weights.size());
  }

  [[nodiscard]] std::size_t count() const noexcept { return begins_.size() - 1; }
  // The first item of a unit; of count(): the number of items.
  [[nodiscard]] std::size_t begin(std::size_t unit) const noexcept { return begins_[unit]; }

private:
  std::vector<std::size_t> begins_;
};

} // namespace haloscope::fem
