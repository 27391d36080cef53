// Functions for Python: they choose the instruction set, distribute the sequences to threads, and add up.
// Results do not depend on the number of threads. docs/design.md, "Kernels of explain".
#include "explain/batch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define HALOSCOPE_PUBLIC extern "C" __attribute__((visibility("default")))

#if defined(__x86_64__) && !defined(HALOSCOPE_BASELINE_ONLY)
#define HALOSCOPE_WIDE_SETS
#endif

namespace haloscope::explain {

namespace baseline {
extern const Kernels kernels;
}
#ifdef HALOSCOPE_WIDE_SETS
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

namespace {

// The kernels that this processor can run, the best ones first.
const std::vector<const Kernels *> &available() {
  static const std::vector<const Kernels *> sets = [] {
    std::vector<const Kernels *> found;
#ifdef HALOSCOPE_WIDE_SETS
    __builtin_cpu_init();
    const bool fma =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool wide = fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
    if (wide) found.push_back(&avx512::kernels);
    if (fma) found.push_back(&avx2::kernels);
#endif
    found.push_back(&baseline::kernels);
    return found;
  }();
  return sets;
}

// Subnormal numbers count as zero meanwhile: computing with them is a hundred times slower.
class FlushToZero {
public:
#ifdef __SSE2__
  FlushToZero() : before{_mm_getcsr()} { _mm_setcsr(before | 0x8040U); }
  ~FlushToZero() { _mm_setcsr(before); }

private:
  unsigned before;
#else
  FlushToZero() = default;
  ~FlushToZero() = default;
#endif
public:
  FlushToZero(const FlushToZero &) = delete;
  FlushToZero &operator=(const FlushToZero &) = delete;
};

// Sequences of similar length together, the long ones first; empty ones are left out.
std::vector<Group> groups_of(const Batch &batch, int lanes) {
  std::vector<int64_t> order(static_cast<size_t>(batch.sequences));
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int64_t s) { return batch.lengths[s] <= 0; });
  std::ranges::sort(order, {}, [&](int64_t s) { return std::pair{-batch.lengths[s], s}; });
  std::vector<Group> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % static_cast<size_t>(lanes) == 0) groups.push_back({});
    groups.back().sequence[groups.back().used++] = order[i];
  }
  return groups;
}

int64_t longest(const Batch &batch) {
  int64_t length = 0;
  for (int64_t s = 0; s < batch.sequences; ++s) length = std::max(length, batch.lengths[s]);
  return length;
}

// Calls worker() in up to `threads` threads, this one included.
template <class Worker> void in_threads(int64_t threads, const Worker &worker) {
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(threads - 1));
  try {
    while (others.size() < others.capacity()) others.emplace_back(worker);
  } catch (const std::system_error &) {
    others.shrink_to_fit(); // the system has no more: those that there are do the work
  }
  worker();
  for (std::thread &other : others) other.join();
}

struct Free {
  void operator()(double *memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};

struct Memory {
  size_t doubles = 0;
  std::unique_ptr<double[], Free> place;
};

// A thread's memory is kept for the next call: iterations call again and again, and new pages are slow.
class Shelf {
public:
  Memory take(size_t doubles) {
    const std::scoped_lock lock{mutex};
    const auto fits = [&](const Memory &memory) { return memory.doubles >= doubles; };
    const auto found = std::ranges::find_if(shelf, fits);
    if (found == shelf.end())
      return {doubles,
              {static_cast<double *>(::operator new[](doubles * sizeof(double), std::align_val_t{64})), {}}};
    Memory taken = std::move(*found);
    shelf.erase(found);
    return taken;
  }
  void put(Memory memory) {
    const std::scoped_lock lock{mutex};
    if (memory.doubles > most_doubles) return;
    if (shelf.size() == most_kept) shelf.erase(shelf.begin());
    shelf.push_back(std::move(memory));
  }

private:
  static constexpr size_t most_doubles = 1U << 21U, most_kept = 8;
  std::mutex mutex;
  std::vector<Memory> shelf;
};

Shelf &shelf() {
  static Shelf one;
  return one;
}

// Runs work(group number, memory) for every group.
template <class Work>
void for_groups(const std::vector<Group> &groups, int threads, int64_t doubles, const Work &work) {
  const int64_t count = std::clamp<int64_t>(static_cast<int64_t>(groups.size()), 1, std::max(threads, 1));
  std::atomic<size_t> next{0};
  std::atomic<bool> whole{true};
  in_threads(count, [&] {
    const FlushToZero flush;
    try {
      Memory memory = shelf().take(static_cast<size_t>(doubles));
      for (size_t g = next++; g < groups.size(); g = next++) work(g, memory.place.get());
      shelf().put(std::move(memory));
    } catch (const std::bad_alloc &) {
      whole = false;
    }
  });
  if (!whole) throw std::bad_alloc{};
}

// True if each state can follow every other state. Then a scaled state that underflows is negligible at the
// next instant. Otherwise it may decide the result.
bool is_mixing(const Batch &batch) {
  return std::all_of(batch.transition, batch.transition + int64_t{batch.states} * batch.states,
                     [](double probability) { return probability > 1e-200; });
}

void expect(const Batch &batch, const Kernels &kernels, const Group &group, Workspace space,
            double *log_likelihood, Counts *counts, double *posterior) {
  const unsigned all = (1U << static_cast<unsigned>(group.used)) - 1U;
  const unsigned lost =
      is_mixing(batch) ? kernels.expectation(batch, group, space, log_likelihood, counts, posterior) : all;
  for (int lane = 0; lane < group.used; ++lane)
    if ((lost >> lane) & 1U)
      expectation_in_logarithms(batch, group.sequence[lane], log_likelihood, counts, posterior);
}

// start, transition, weight, first, second, one after the other.
void add(const Counts &counts, int states, double *sums) {
  const auto append = [&](const double *part) {
    for (int i = 0; i < states; ++i) *sums++ += part[i];
  };
  append(counts.start);
  for (int i = 0; i < states; ++i) append(counts.transition[i]);
  append(counts.weight);
  append(counts.first);
  append(counts.second);
}

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

const Kernels &kernels_of(int set) {
  const auto &sets = available();
  return *sets[set >= 0 && static_cast<size_t>(set) < sets.size() ? static_cast<size_t>(set) : 0];
}

// The name of an instruction set; null after the last one.
HALOSCOPE_PUBLIC const char *haloscope_instruction_set(int set) {
  const auto &sets = available();
  return set >= 0 && static_cast<size_t>(set) < sets.size() ? sets[static_cast<size_t>(set)]->name : nullptr;
}

// `sums` and `posterior` may be null. Returns 0, or 1 if there is not enough memory.
HALOSCOPE_PUBLIC int haloscope_expectation(const Batch *batch, int threads, int set, double *log_likelihood,
                                           double *sums, double *posterior) try {
  const Kernels &kernels = kernels_of(set);
  const std::vector<Group> groups = groups_of(*batch, kernels.lanes);
  const int64_t length = longest(*batch), history = history_size(*batch, length, kernels.lanes);
  std::vector<Counts> counts(sums ? groups.size() : 0);
  std::fill_n(log_likelihood, batch->sequences, 0.0);
  for_groups(groups, threads, history + checkpoints_size(*batch, length, kernels.lanes),
             [&](size_t g, double *space) {
               expect(*batch, kernels, groups[g], {space, space + history}, log_likelihood,
                      sums ? &counts[g] : nullptr, posterior);
             });
  // One instant that no state explains makes a whole sequence impossible.
  std::replace_if(
      log_likelihood, log_likelihood + batch->sequences, [](double x) { return x < impossible / 2; },
      -std::numeric_limits<double>::infinity());
  for (const Counts &part : counts) add(part, batch->states, sums);
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// Writes states[begins[s] + t].
HALOSCOPE_PUBLIC int haloscope_viterbi(const Batch *batch, int threads, int set, uint8_t *states) try {
  const Kernels &kernels = kernels_of(set);
  const int64_t bytes = pointers_size(*batch, longest(*batch), kernels.lanes);
  const std::vector<Group> groups = groups_of(*batch, kernels.lanes);
  for_groups(groups, threads, bytes / 8 + 1,
             [&](size_t g, double *space) { kernels.viterbi(*batch, groups[g], space, states); });
  return 0;
} catch (const std::bad_alloc &) {
  return 1;
}

// Writes the median of each sequence, each of which has at least one instance. Returns as above.
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
