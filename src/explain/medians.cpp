// The median of each sequence. A sample says about where it is; only what is thereabouts is sorted out
// (Floyd and Rivest 1975, doi 10.1145/360680.360691).
#include "medians.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace haloscope::explain {

namespace {

constexpr int64_t SAMPLE = 128, MARGIN = 14; // places in the sample on either side: 2.5 deviations

// The (n-1)/2-th and the n/2-th of sorted values, from those in order about them.
double middle(std::vector<double> &part, int64_t place, bool even) {
  const auto at = part.begin() + place;
  std::nth_element(part.begin(), at, part.end());
  return even ? (*std::max_element(part.begin(), at) + *at) / 2 : *at;
}

} // namespace

double median(const double *values, int64_t length, std::vector<double> &part) {
  const bool even = length % 2 == 0;
  const int64_t place = length / 2;
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  if (length > 8 * SAMPLE) {
    part.clear();
    for (int64_t i = 0; i < SAMPLE; ++i) part.push_back(values[i * length / SAMPLE]);
    std::ranges::sort(part);
    low = part[SAMPLE / 2 - MARGIN];
    high = part[SAMPLE / 2 + MARGIN];
  }
  part.resize(static_cast<size_t>(length));
  int64_t below = 0, kept = 0;
  for (int64_t i = 0; i < length; ++i) {
    const double value = values[i];
    part[static_cast<size_t>(kept)] = value;
    below += value < low ? 1 : 0;
    kept += value >= low && value <= high ? 1 : 0;
  }
  const bool there = place - (even ? 1 : 0) >= below && place < below + kept;
  if (there) {
    part.resize(static_cast<size_t>(kept));
    return middle(part, place - below, even);
  }
  part.assign(values, values + length);
  return middle(part, place, even);
}

} // namespace haloscope::explain
