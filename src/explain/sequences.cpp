// Functions for Python: they choose the instruction set, distribute the sequences to threads, and add up.
// Results do not depend on the number of threads. docs/design.md, "Kernels of explain".
#include "explain/batch.hpp"
#include "explain/public.hpp"
#include "explain/threads.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <immintrin.h>
#endif

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

} // namespace haloscope::explain
