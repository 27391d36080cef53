// The median of each sequence. A sample says about where it is; only what is thereabouts is sorted out
// (Floyd and Rivest 1975, doi 10.1145/360680.360691).
#include "explain/medians.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace haloscope::explain {

namespace {

constexpr int64_t SAMPLE = 128, MARGIN = 14; // places in the sample on either side: 2.5 deviations

// The mean of the two in the middle, or that one; `place` is where the higher one is among those kept.
double middle(std::span<double> part, int64_t place, bool even) {
  const auto at = part.begin() + place;
  std::nth_element(part.begin(), at, part.end());
  return even ? (*std::max_element(part.begin(), at) + *at) / 2 : *at;
}

} // namespace

double median(std::span<const double> values, std::vector<double> &part) {
  const auto length = static_cast<int64_t>(values.size()), place = length / 2;
  const bool even = length % 2 == 0;
  if (part.size() < values.size()) part.resize(values.size());
  double *const kept = part.data();
  if (length > 8 * SAMPLE) {
    std::array<double, SAMPLE> sample{};
    for (int64_t i = 0; i < SAMPLE; ++i)
      sample[static_cast<size_t>(i)] = values[static_cast<size_t>(i * length / SAMPLE)];
    std::ranges::sort(sample);
    const double low = sample[SAMPLE / 2 - MARGIN], high = sample[SAMPLE / 2 + MARGIN];
    int64_t below = 0, number = 0;
    for (const double value : values) {
      const auto under = static_cast<int64_t>(value < low), over = static_cast<int64_t>(value > high);
      kept[number] = value;
      below += under;
      number += 1 - under - over;
    }
    if (place - (even ? 1 : 0) >= below && place < below + number)
      return middle({kept, static_cast<size_t>(number)}, place - below, even);
  }
  std::ranges::copy(values, kept);
  return middle({kept, values.size()}, place, even);
}

} // namespace haloscope::explain
