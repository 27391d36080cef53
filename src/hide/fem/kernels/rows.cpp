#include "kernels/bricks.hpp"
#include "kernels/column.hpp"
#include "kernels/lattice.hpp"
#include "kernels/schedule.hpp"

#include <array>

namespace haloscope::fem::kernels {
namespace {

using Integers [[gnu::vector_size(lanes * sizeof(std::int64_t))]] = std::int64_t;

// One brick's rows in the lanes, or several bricks' side by side.
template <int edge> struct Layout {
  static constexpr int bricks = lanes / edge, rows = (edge + 1) * (edge + 1);
  using Part [[gnu::vector_size(edge * sizeof(double))]] = double;

  static Lanes gather_rows(const double *x, const std::int32_t *bases) {
    if constexpr (bricks == 1) return load(x + bases[0]);
    Lanes value;
#pragma GCC unroll 4
    for (int brick = 0; brick < bricks; ++brick)
      std::memcpy(reinterpret_cast<double *>(&value) + std::ptrdiff_t{brick} * edge, x + bases[brick],
                  edge * sizeof(double));
    return value;
  }
  static void scatter_rows(double *y, const std::int32_t *bases, Lanes value, bool stores) {
#pragma GCC unroll 4
    for (int brick = 0; brick < bricks; ++brick) {
      Part part, old = {};
      std::memcpy(&part, reinterpret_cast<const double *>(&value) + std::ptrdiff_t{brick} * edge,
                  sizeof part);
      if (!stores) std::memcpy(&old, y + bases[brick], sizeof old);
      part += old;
      std::memcpy(y + bases[brick], &part, sizeof part);
    }
  }
  // The values one place lower in x: those of the row, moved up, and `starts` where a brick begins.
  static Lanes lower(Lanes row, const double *starts) {
    Lanes moved;
#pragma GCC unroll 8
    for (int lane = 0; lane < lanes; ++lane)
      moved[lane] = lane % edge == 0 ? starts[lane / edge] : row[lane - 1];
    return moved;
  }
  // Moved down; nothing comes to a brick's last place.
  static Lanes upper(Lanes left) {
    Lanes moved;
#pragma GCC unroll 8
    for (int lane = 0; lane < lanes; ++lane) moved[lane] = (lane + 1) % edge == 0 ? 0.0 : left[lane + 1];
    return moved;
  }
};

Lanes choose(std::uint8_t mask, Lanes yes, Lanes no) {
  Integers bits;
#pragma GCC unroll 8
  for (int lane = 0; lane < lanes; ++lane) bits[lane] = std::int64_t{1} << lane;
  return (bits & std::int64_t{mask}) != 0 ? yes : no;
}

// The part of an item that cannot be reached row by row.
template <int edge> struct Buffer {
  double rows[Layout<edge>::rows * lanes];
  double starts[Layout<edge>::rows * Layout<edge>::bricks];

  double &at(std::int32_t position) {
    constexpr std::int32_t in_rows = Layout<edge>::rows * lanes;
    return position < in_rows ? rows[position] : starts[position - in_rows];
  }
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
      double at_start[Along::bricks];
      for (int brick = 0; brick < Along::bricks; ++brick)
        at_start[brick] = x[starts[row * Along::bricks + brick]];
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
    Buffer<edge> in = {}, out;
    for (const Entry &entry : entries) in.at(entry.position) += entry.weight * x[entry.node];
    const auto read = [&](int row) {
      double at_start[Along::bricks];
      for (int brick = 0; brick < Along::bricks; ++brick) {
        const std::int32_t start = starts[row * Along::bricks + brick];
        at_start[brick] = *(start >= 0 ? x + start : in.starts + row * Along::bricks + brick);
      }
      Lanes right = load(in.rows, row);
      if (direct[row] != 0)
        right = choose(direct[row], Along::gather_rows(x, bases + row * Along::bricks), right);
      return Ends{Along::lower(right, at_start), right};
    };
    const auto write = [&](int row, Ends ends) {
      const Lanes sum = ends.right + Along::upper(ends.left);
      store(out.rows, row, sum);
      if (direct[row] != 0)
        Along::scatter_rows(y, bases + row * Along::bricks, choose(direct[row], sum, Lanes{}),
                            stores[row] != 0);
      for (int brick = 0; brick < Along::bricks; ++brick) {
        const std::int32_t start = starts[row * Along::bricks + brick];
        const double value = ends.left[brick * edge];
        out.starts[row * Along::bricks + brick] = value;
        if (start >= 0) y[start] += value;
      }
    };
    column<edge>(read, write, [&](int yz) { return load(scale, yz); });
    for (const Entry &entry : entries) y[entry.node] += entry.weight * out.at(entry.position);
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

void Rows::run(std::size_t begin, std::size_t end, const double *x, double *y) const {
  if constexpr (lanes >= 4)
    if (edge == 4) run_items<4>(*this, begin, end, x, y);
  if constexpr (lanes >= 8)
    if (edge == 8) run_items<8>(*this, begin, end, x, y);
}

} // namespace haloscope::fem::kernels
