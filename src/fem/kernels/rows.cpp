#include "fem/kernels/bricks.hpp"
#include "fem/kernels/column.hpp"
#include "fem/kernels/items.hpp"

#include <array>

namespace haloscope::fem::kernels {

namespace {

// Builds one item of Rows.
class Builder {
public:
  Builder(Rows &rows, const Mesh &mesh, std::span<const std::int32_t> firsts) : rows_(rows), mesh_(mesh) {
    for (const std::int32_t first : firsts) lattices_.emplace_back(mesh.cells, first, rows.edge);
  }

  void build(Writes &writes) {
    for (int row = 0; row < rows_.rows(); ++row) add_row(row, writes);
    for (std::size_t i = begin_; i < rows_.entries.size(); ++i) writes.adds(rows_.entries[i].node);
    rows_.begins.push_back(static_cast<std::uint32_t>(rows_.entries.size()));
    rows_.regular.push_back(regular_ ? 1 : 0);
  }

private:
  using Place = Lattice::Place;

  // Nothing where there are fewer bricks than fit.
  const Place *place(int brick, int row, int x) const {
    const auto which = static_cast<std::size_t>(brick);
    const int size = rows_.edge + 1;
    return which < lattices_.size() ? &lattices_[which].at(x, row % size, row / size) : nullptr;
  }
  bool present(const Place *place) const {
    return place != nullptr && place->node >= 0 && mesh_.reads(place->node);
  }

  // The node that x = 1 would have if the others followed it: that of the first node that is there.
  std::int32_t base(int brick, int row) const {
    for (int x = 1; x <= rows_.edge; ++x) {
      const Place *at = place(brick, row, x);
      if (!present(at)) continue;
      const std::int32_t base = at->node - (x - 1);
      return base >= 0 && std::ptrdiff_t{base} + rows_.edge <= static_cast<std::ptrdiff_t>(mesh_.nodes) ? base
                                                                                                        : -1;
    }
    return -1;
  }

  void enter(const Place *place, int position) {
    regular_ = false;
    if (place == nullptr) return;
    if (present(place)) rows_.entries.push_back({place->node, position, 1});
    if (place->node >= 0) return;
    for (const std::int32_t parent : place->parents)
      if (mesh_.reads(parent))
        rows_.entries.push_back({parent, position, 1 / static_cast<double>(place->parents.size())});
  }

  void add_row(int row, Writes &writes) {
    std::vector<std::int32_t> written;
    unsigned direct = 0;
    for (int brick = 0; brick < rows_.bricks(); ++brick) {
      const std::int32_t base = this->base(brick, row);
      rows_.bases.push_back(base < 0 ? 0 : base);
      for (int x = 1; x <= rows_.edge; ++x) {
        const int lane = brick * rows_.edge + x - 1;
        const Place *at = place(brick, row, x);
        if (base >= 0 && present(at) && at->node == base + x - 1) {
          direct |= 1U << static_cast<unsigned>(lane);
          written.push_back(at->node);
        } else {
          enter(at, row * lanes + lane);
        }
      }
    }
    const bool whole = written.size() == lanes;
    const bool stores = whole && writes.stores(written);
    if (!whole)
      for (const std::int32_t node : written) writes.adds(node);
    rows_.direct.push_back(static_cast<std::uint8_t>(direct));
    rows_.stores.push_back(stores ? 1 : 0);
    for (int brick = 0; brick < rows_.bricks(); ++brick) add_start(brick, row, writes);
  }

  void add_start(int brick, int row, Writes &writes) {
    const Place *at = place(brick, row, 0);
    rows_.starts.push_back(present(at) ? at->node : -1);
    if (present(at))
      writes.adds(at->node);
    else
      enter(at, rows_.rows() * lanes + row * rows_.bricks() + brick);
  }

  Rows &rows_;
  const Mesh &mesh_;
  std::vector<Lattice> lattices_;
  std::size_t begin_ = rows_.entries.size();
  bool regular_ = true;
};

} // namespace

void Rows::add(const Mesh &mesh, std::span<const std::int32_t> firsts, Writes &writes) {
  if (begins.empty()) begins.push_back(0);
  const std::size_t item = regular.size(), each = static_cast<std::size_t>(edge * edge) * lanes;
  Builder(*this, mesh, firsts).build(writes);
  scale.resize((item + 1) * each, 0);
  for (std::size_t brick = 0; brick < firsts.size(); ++brick)
    for (unsigned morton = 0; morton < static_cast<unsigned>(edge * edge * edge); ++morton) {
      const int row = place_along(2, morton) * edge + place_along(1, morton);
      const std::size_t lane =
          brick * static_cast<std::size_t>(edge) + static_cast<std::size_t>(place_along(0, morton));
      scale[item * each + static_cast<std::size_t>(row) * lanes + lane] =
          scale_of(mesh.cells, firsts[brick] + static_cast<std::int32_t>(morton));
    }
}

namespace {

using Integers [[gnu::vector_size(lanes * sizeof(std::int64_t))]] = std::int64_t;

// One brick's rows in the lanes, or two bricks' side by side. `lower` gives the values one place lower in
// x, with `starts` where a brick begins; `upper` those one place higher, with nothing where it ends.
template <int edge> struct Layout;

#if defined(__AVX__)
struct OneBrick {
  static constexpr int bricks = 1;
  static Lanes gather_rows(const double *x, const std::int32_t *bases) { return load(x + bases[0]); }
  static void scatter_rows(double *y, const std::int32_t *bases, Lanes value, bool stores) {
    store(y + bases[0], stores ? value : value + load(y + bases[0]));
  }
};
#endif

#if defined(__AVX512F__)
template <> struct Layout<8> : OneBrick {
  static constexpr int rows = 81;
  static Lanes lower(Lanes row, const double *const *starts) {
    return __builtin_shufflevector(row, broadcast(*starts[0]), 8, 0, 1, 2, 3, 4, 5, 6);
  }
  static Lanes upper(Lanes left) { return __builtin_shufflevector(left, Lanes{}, 1, 2, 3, 4, 5, 6, 7, 8); }
};

template <> struct Layout<4> {
  static constexpr int bricks = 2, rows = 25;
  static Lanes gather_rows(const double *x, const std::int32_t *bases) {
    const Lanes first = _mm512_castpd256_pd512(_mm256_loadu_pd(x + bases[0]));
    return _mm512_maskz_insertf64x4(__mmask8{255}, first, _mm256_loadu_pd(x + bases[1]), 1);
  }
  static void scatter_rows(double *y, const std::int32_t *bases, Lanes value, bool stores) {
    add(y + bases[0], __builtin_shufflevector(value, value, 0, 1, 2, 3), stores);
    add(y + bases[1], __builtin_shufflevector(value, value, 4, 5, 6, 7), stores);
  }
  static Lanes lower(Lanes row, const double *const *starts) {
    const Lanes both = _mm512_maskz_broadcast_f64x4(
        __mmask8{255}, _mm256_castpd128_pd256(_mm_set_pd(*starts[1], *starts[0])));
    return __builtin_shufflevector(row, both, 8, 0, 1, 2, 9, 4, 5, 6);
  }
  static Lanes upper(Lanes left) { return __builtin_shufflevector(left, Lanes{}, 1, 2, 3, 8, 5, 6, 7, 8); }

private:
  static void add(double *y, __m256d value, bool stores) {
    _mm256_storeu_pd(y, stores ? value : value + _mm256_loadu_pd(y));
  }
};
#elif defined(__AVX__)
template <> struct Layout<4> : OneBrick {
  static constexpr int rows = 25;
  static Lanes lower(Lanes row, const double *const *starts) {
    return __builtin_shufflevector(row, broadcast(*starts[0]), 4, 0, 1, 2);
  }
  static Lanes upper(Lanes left) { return __builtin_shufflevector(left, Lanes{}, 1, 2, 3, 4); }
};
#endif

[[maybe_unused]] Lanes choose(std::uint8_t mask, Lanes yes, Lanes no) {
#if defined(__AVX512F__)
  return _mm512_mask_blend_pd(mask, no, yes);
#else
  Integers bits;
  for (int lane = 0; lane < lanes; ++lane) bits[lane] = std::int64_t{1} << lane;
  return (bits & std::int64_t{mask}) != 0 ? yes : no;
#endif
}

// The part of an item that cannot be reached row by row: rows, then starts.
template <int edge> struct Buffer {
  static constexpr int in_rows = Layout<edge>::rows * lanes;
  double values[in_rows + Layout<edge>::rows * Layout<edge>::bricks];
  double *starts(int row) { return values + in_rows + std::ptrdiff_t{row} * Layout<edge>::bricks; }
};

template <int edge> struct Item {
  using Along = Layout<edge>;

  Item(const Rows &all, std::size_t item)
      : bases(all.bases.data() + item * Along::rows * Along::bricks),
        starts(all.starts.data() + item * Along::rows * Along::bricks),
        direct(all.direct.data() + item * Along::rows), stores(all.stores.data() + item * Along::rows),
        scale(all.scale.data() + item * edge * edge * lanes),
        entries(all.entries.data() + all.begins[item], all.entries.data() + all.begins[item + 1]) {}

  void run_regular(const double *x, double *y) const {
    const auto read = [&](int row) {
      const double *at_start[Along::bricks];
      for (int brick = 0; brick < Along::bricks; ++brick)
        at_start[brick] = x + starts[row * Along::bricks + brick];
      const Lanes right = Along::gather_rows(x, bases + row * Along::bricks);
      return Ends{Along::lower(right, at_start), right};
    };
    const auto write = [&](int row, Ends ends) {
      Along::scatter_rows(y, bases + row * Along::bricks, ends.right + Along::upper(ends.left),
                          stores[row] != 0);
      for (int brick = 0; brick < Along::bricks; ++brick)
        y[starts[row * Along::bricks + brick]] += ends.left[brick * edge];
    };
    column<edge>(read, write, [&](int yz) { return load(scale, yz); });
  }

  void run_irregular(const double *x, double *y) const {
    Buffer<edge> in, out;
    std::memset(&in, 0, sizeof in);
    for (const Entry &entry : entries) in.values[entry.position] += entry.weight * x[entry.node];
    const auto read = [&](int row) {
      const double *at_start[Along::bricks];
      for (int brick = 0; brick < Along::bricks; ++brick) {
        const std::int32_t start = starts[row * Along::bricks + brick];
        at_start[brick] = start >= 0 ? x + start : in.starts(row) + brick;
      }
      Lanes right = load(in.values, row);
      if (direct[row] != 0)
        right = choose(direct[row], Along::gather_rows(x, bases + row * Along::bricks), right);
      return Ends{Along::lower(right, at_start), right};
    };
    const auto write = [&](int row, Ends ends) {
      const Lanes sum = ends.right + Along::upper(ends.left);
      store(out.values, row, sum);
      if (direct[row] != 0)
        Along::scatter_rows(y, bases + row * Along::bricks, choose(direct[row], sum, Lanes{}),
                            stores[row] != 0);
      for (int brick = 0; brick < Along::bricks; ++brick) {
        const std::int32_t start = starts[row * Along::bricks + brick];
        const double value = ends.left[brick * edge];
        out.starts(row)[brick] = value;
        if (start >= 0) y[start] += value;
      }
    };
    column<edge>(read, write, [&](int yz) { return load(scale, yz); });
    for (const Entry &entry : entries) y[entry.node] += entry.weight * out.values[entry.position];
  }

  const std::int32_t *bases, *starts;
  const std::uint8_t *direct, *stores;
  const double *scale;
  std::span<const Entry> entries;
};

template <int edge>
void run_items(const Rows &all, std::size_t begin, std::size_t end, const double *x, double *y) {
  for (std::size_t item = begin; item < end; ++item)
    if (all.regular[item] != 0)
      Item<edge>(all, item).run_regular(x, y);
    else
      Item<edge>(all, item).run_irregular(x, y);
}

} // namespace

void Rows::run([[maybe_unused]] std::size_t begin, [[maybe_unused]] std::size_t end,
               [[maybe_unused]] const double *x, [[maybe_unused]] double *y) const {
#if defined(__AVX__)
  if (edge == 4) run_items<4>(*this, begin, end, x, y);
#endif
#if defined(__AVX512F__)
  if (edge == 8) run_items<8>(*this, begin, end, x, y);
#endif
}

} // namespace haloscope::fem::kernels
