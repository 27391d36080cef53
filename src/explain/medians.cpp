// Medians of sequences, for Python.
#include "explain/batch.hpp"
#include "explain/public.hpp"
#include "explain/threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <span>
#include <vector>

namespace haloscope::explain {

namespace {

constexpr int64_t sample_size = 128,
                  sample_margin = 14; // places in the sample on either side: 2.5 deviations

// The mean of the two in the middle, or that one; `place` is where the higher one is among those kept.
double middle(std::span<double> part, int64_t place, bool even) {
  const auto at = part.begin() + place;
  std::nth_element(part.begin(), at, part.end());
  return even ? (*std::max_element(part.begin(), at) + *at) / 2 : *at;
}

// The median of a sequence without NaN, as NumPy defines it. `part` is working memory. A sample gives an
// interval around the median, and only values in it are sorted (Floyd and Rivest 1975, doi
// 10.1145/360680.360691).
double median(std::span<const double> values, std::vector<double> &part) {
  const auto length = static_cast<int64_t>(values.size()), place = length / 2;
  const bool even = length % 2 == 0;
  if (part.size() < values.size()) part.resize(values.size());
  double *const kept = part.data();
  if (length > 8 * sample_size) {
    std::array<double, sample_size> sample{};
    for (int64_t i = 0; i < sample_size; ++i)
      sample[static_cast<size_t>(i)] = values[static_cast<size_t>(i * length / sample_size)];
    std::ranges::sort(sample);
    const double low = sample[sample_size / 2 - sample_margin],
                 high = sample[sample_size / 2 + sample_margin];
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

} // namespace

// Writes the median of each sequence, each of which has at least one instance. Returns 0, or 1 if there is
// not enough memory.
HALOSCOPE_PUBLIC int haloscope_medians(const Batch *batch, int threads, double *medians) try {
  std::atomic<int64_t> next{0};
  std::atomic<bool> whole{true};
  in_threads(std::clamp<int64_t>(batch->sequences, 1, std::max(threads, 1)), [&] {
    try {
      std::vector<double> part;
      for (int64_t s = next++; s < batch->sequences; s = next++)
        medians[s] = median({batch->values + batch->begins[s], static_cast<size_t>(batch->lengths[s])}, part);
    } catch (const std::bad_alloc &) {
      whole = false;
    }
  });
  return whole ? 0 : 1;
} catch (const std::bad_alloc &) {
  return 1;
}

} // namespace haloscope::explain
