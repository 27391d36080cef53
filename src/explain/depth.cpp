// Functional boxplots of many curves: depths by ranks, bands, and which curves leave them. Called by
// python/haloscope/profile/kernels/__init__.py.

#include "explain/public.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace haloscope::explain {

namespace {

// The data from Python: count × points values, curve after curve.
struct Curves {
  const double *values;
  int64_t count, points;
};

// Points that are worked on together, and curves that are read together: cache lines.
constexpr int64_t tile_columns = 32;
constexpr int64_t tile_rows = 8;

// The pairs of n curves that do not enclose a curve, because both are below it or both above it; in halves.
int64_t enclosing(int64_t n, int64_t below, int64_t above) {
  return n * (n - 1) - below * (below - 1) - above * (above - 1);
}

struct Value {
  double value;
  int64_t curve;
};

// Ranks the curves at one point after the other. Values are counted in buckets of equal width, so that
// no comparison is needed where all in a bucket are the same, as the steps of distributions are.
class Ranking {
public:
  explicit Ranking(int64_t curves)
      : n(curves), buckets(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(curves)))), key(size(n)),
        begins(size(buckets + 1)), sample(size(buckets)), pairs(size(buckets)) {}

  // Adds what `values` at a point, between `least` and `largest`, add to each curve's depth.
  void add(const double *values, double least, double largest, int64_t *inside) {
    const double scale = static_cast<double>(buckets - 1) / (largest - least);
    if (least == largest)
      std::for_each_n(inside, n, [this](int64_t &sum) { sum += enclosing(n, 0, 0); });
    else if (!std::isfinite(scale) || !std::isfinite(largest - least))
      add_sorted(values, inside);
    else
      add_counted(values, least, scale, inside);
  }

private:
  static size_t size(int64_t count) { return static_cast<size_t>(count); }

  void add_counted(const double *values, double least, double scale, int64_t *inside) {
    std::ranges::fill(begins, 0);
    for (int64_t i = 0; i < n; ++i) key[size(i)] = static_cast<int32_t>((values[i] - least) * scale);
    for (int64_t i = 0; i < n; ++i) {
      const size_t bucket = size(key[size(i)]);
      ++begins[bucket + 1];
      sample[bucket] = values[i];
    }
    int64_t below = 0;
    for (size_t b = 0; b < size(buckets); ++b) {
      const int64_t here = begins[b + 1];
      pairs[b] = enclosing(n, below, n - below - here);
      begins[b] = static_cast<int32_t>(below);
      below += here;
    }
    bool mixed = false;
    for (int64_t i = 0; i < n; ++i) {
      const size_t bucket = size(key[size(i)]);
      mixed |= sample[bucket] != values[i];
      inside[i] += pairs[bucket];
    }
    if (mixed) correct_mixed(values, inside);
  }

  // Sorts the buckets with different values, and subtracts their earlier contributions.
  void correct_mixed(const double *values, int64_t *inside) {
    ordered.resize(size(n));
    next = begins;
    for (int64_t i = 0; i < n; ++i) ordered[size(next[size(key[size(i)])]++)] = {values[i], i};
    for (size_t b = 0; b < size(buckets); ++b) {
      const auto first = ordered.begin() + begins[b], last = ordered.begin() + next[b];
      if (last - first < 2 ||
          std::all_of(first, last, [&](const Value &v) { return v.value == first->value; }))
        continue;
      for (auto v = first; v != last; ++v) inside[v->curve] -= pairs[b];
      sort(first, last);
      add_runs(first, last, begins[b], inside);
    }
  }

  static void sort(std::vector<Value>::iterator first, std::vector<Value>::iterator last) {
    std::sort(first, last, [](const Value &a, const Value &b) { return a.value < b.value; });
  }

  void add_sorted(const double *values, int64_t *inside) {
    ordered.clear();
    for (int64_t i = 0; i < n; ++i) ordered.push_back({values[i], i});
    sort(ordered.begin(), ordered.end());
    add_runs(ordered.begin(), ordered.end(), 0, inside);
  }

  // Adds runs of equal values. The values are ascending, with `below` smaller ones before them.
  void add_runs(std::vector<Value>::iterator first, std::vector<Value>::iterator last, int64_t below,
                int64_t *inside) const {
    while (first != last) {
      const auto next = std::find_if(first, last, [&](const Value &v) { return v.value != first->value; });
      const int64_t equal = next - first, sum = enclosing(n, below, n - below - equal);
      for (; first != next; ++first) inside[first->curve] += sum;
      below += equal;
    }
  }

  int64_t n, buckets;
  std::vector<int32_t> key, begins, next;
  std::vector<double> sample;
  std::vector<int64_t> pairs;
  std::vector<Value> ordered;
};

// Some points of all curves, point by point, with their extremes.
class Columns {
public:
  explicit Columns(int64_t curves)
      : n(curves), stride(static_cast<size_t>(curves + tile_rows)),
        values(stride * static_cast<size_t>(tile_columns)) {}

  void read(const Curves &curves, int64_t first) {
    width = std::min(tile_columns, curves.points - first);
    least.fill(std::numeric_limits<double>::infinity());
    largest.fill(-std::numeric_limits<double>::infinity());
    bool is_number = true;
    for (int64_t i = 0; i < n; i += tile_rows)
      is_number &=
          read_tile(curves.values + i * curves.points + first, curves.points, i, std::min(tile_rows, n - i));
    if (!is_number) throw std::domain_error("NaN");
  }

  void rank(Ranking &ranking, int64_t *inside) const {
    for (size_t c = 0; c < static_cast<size_t>(width); ++c)
      ranking.add(values.data() + c * stride, least[c], largest[c], inside);
  }

private:
  // Some curves at a time, so that whole cache lines are written.
  bool read_tile(const double *rows, int64_t step, int64_t curve, int64_t count) {
    bool is_number = true;
    for (int64_t c = 0; c < width; ++c) {
      double *to = values.data() + static_cast<size_t>(c) * stride + curve;
      double low = least[static_cast<size_t>(c)], high = largest[static_cast<size_t>(c)];
      for (int64_t k = 0; k < count; ++k) {
        const double value = rows[k * step + c];
        to[k] = value;
        low = value < low ? value : low;
        high = value > high ? value : high;
        is_number &= !std::isnan(value);
      }
      least[static_cast<size_t>(c)] = low;
      largest[static_cast<size_t>(c)] = high;
    }
    return is_number;
  }

  int64_t n, width = 0;
  size_t stride;
  std::vector<double> values;
  std::array<double, tile_columns> least{}, largest{};
};

void add_depths(const Curves &curves, int threads, double *depth) {
  const int64_t n = curves.count;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::vector<int64_t> total(static_cast<size_t>(n));
  std::exception_ptr failed;
  const auto work = [&] {
    try {
      std::vector<int64_t> inside(static_cast<size_t>(n));
      Ranking ranking(n);
      Columns columns(n);
      for (int64_t first = next.fetch_add(tile_columns); first < curves.points;
           first = next.fetch_add(tile_columns)) {
        columns.read(curves, first);
        columns.rank(ranking, inside.data());
      }
      const std::scoped_lock lock(mutex);
      std::ranges::transform(total, inside, total.begin(), std::plus<>{});
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failed = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  const int64_t blocks = (curves.points + tile_columns - 1) / tile_columns;
  for (int64_t t = 1; t < std::min<int64_t>(threads, blocks); ++t) others.emplace_back(work);
  work();
  for (std::thread &other : others) other.join();
  if (failed) std::rethrow_exception(failed);
  const double all = static_cast<double>(n * (n - 1)) * static_cast<double>(curves.points);
  std::ranges::transform(total, depth, [all](int64_t sum) { return static_cast<double>(sum) / all; });
}

} // namespace

// Returns 0, or 1 if there is not enough memory, or 2 if a value is NaN.
HALOSCOPE_PUBLIC int haloscope_band_depth(const Curves *curves, int threads, double *depth) try {
  add_depths(*curves, threads, depth);
  return 0;
} catch (const std::domain_error &) {
  return 2;
} catch (const std::exception &) {
  return 1;
}

HALOSCOPE_PUBLIC void haloscope_envelope(const Curves *curves, const int64_t *chosen, int64_t count,
                                         double *low, double *high) {
  std::copy_n(curves->values + chosen[0] * curves->points, curves->points, low);
  std::copy_n(low, curves->points, high);
  for (int64_t i = 1; i < count; ++i) {
    const double *row = curves->values + chosen[i] * curves->points;
    for (int64_t p = 0; p < curves->points; ++p) {
      low[p] = row[p] < low[p] ? row[p] : low[p];
      high[p] = row[p] > high[p] ? row[p] : high[p];
    }
  }
}

HALOSCOPE_PUBLIC void haloscope_outside(const Curves *curves, const double *low, const double *high,
                                        bool *is_outside) {
  for (int64_t i = 0; i < curves->count; ++i) {
    const double *row = curves->values + i * curves->points;
    unsigned any = 0;
    for (int64_t p = 0; p < curves->points; ++p)
      any |= static_cast<unsigned>(row[p] < low[p]) | static_cast<unsigned>(row[p] > high[p]);
    is_outside[i] = any != 0;
  }
}

} // namespace haloscope::explain
