#include "block.hpp"

#include "../common/simd.hpp"

#include <algorithm>
#include <bit>

namespace amr {

namespace {

// Scatters bits (the finaliser of SplitMix64).
std::uint64_t scatter(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

// A number for every cell of a level and every variable.
std::uint64_t number(const Shape &shape, const Place &place, int variable, Int3 cell) {
  std::uint64_t bits =
      scatter(static_cast<std::uint64_t>(place.level)) + static_cast<std::uint64_t>(variable);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto first =
        static_cast<std::uint64_t>(place.at[axis]) * static_cast<std::uint64_t>(shape.cells[axis]);
    bits = scatter(bits) + first + static_cast<std::uint64_t>(cell[axis] - 1);
  }
  return scatter(bits);
}

// Calls `visit(variable, x, y, z)` for all cells, or for every second one along each axis.
template <typename Visit> void for_cells(const Shape &shape, int step, Visit &&visit) {
  for (int v = 0; v < shape.variables; ++v)
    for (int z = 1; z <= shape.cells[2]; z += step)
      for (int y = 1; y <= shape.cells[1]; y += step)
        for (int x = 1; x <= shape.cells[0]; x += step) visit(v, x, y, z);
}

// The parent's cell that the child's first cell is part of, less one.
Int3 offset(const Shape &shape, int which) {
  return {(which & 1) * shape.cells[0] / 2, (which >> 1 & 1) * shape.cells[1] / 2,
          (which >> 2) * shape.cells[2] / 2};
}

} // namespace

Block initial(const Shape &shape, const Place &root, bool uniform) {
  Block block(shape.size());
  for_cells(shape, 1, [&](int v, int x, int y, int z) {
    const double scattered = static_cast<double>(number(shape, root, v, {x, y, z}) >> 11) * 0x1p-53;
    block[shape.at(v, x, y, z)] = uniform ? 0.7 : scattered;
  });
  return block;
}

Block refined(const Shape &shape, const Block &parent, int which) {
  Block child(shape.size());
  const Int3 from = offset(shape, which);
  for_cells(shape, 1, [&](int v, int x, int y, int z) {
    child[shape.at(v, x, y, z)] =
        parent[shape.at(v, from[0] + (x + 1) / 2, from[1] + (y + 1) / 2, from[2] + (z + 1) / 2)];
  });
  return child;
}

void coarsen(const Shape &shape, const Block &child, std::span<double> octant) {
  std::size_t next = 0;
  for_cells(shape, 2, [&](int v, int x, int y, int z) {
    // in pairs: exact if all are equal
    const auto pair = [&](int j, int k) {
      const double *cell = child.data() + shape.at(v, x, y + j, z + k);
      return cell[0] + cell[1];
    };
    octant[next++] = ((pair(0, 0) + pair(1, 0)) + (pair(0, 1) + pair(1, 1))) / 8;
  });
}

void set_octant(const Shape &shape, Block &parent, int which, std::span<const double> octant) {
  const Int3 to = offset(shape, which);
  std::size_t next = 0;
  for_cells(shape, 2, [&](int v, int x, int y, int z) {
    parent[shape.at(v, to[0] + (x + 1) / 2, to[1] + (y + 1) / 2, to[2] + (z + 1) / 2)] = octant[next++];
  });
}

void add_totals(const Shape &shape, const Block &block, std::span<double> totals) {
  for (int v = 0; v < shape.variables; ++v) {
    double sum = 0;
    for (int z = 1; z <= shape.cells[2]; ++z)
      for (int y = 1; y <= shape.cells[1]; ++y)
        for (int x = 1; x <= shape.cells[0]; ++x) sum += block[shape.at(v, x, y, z)];
    totals[static_cast<std::size_t>(v)] += sum;
  }
}

Digest digest(const Shape &shape, const Block &block, const Place &place) {
  const double some = block[shape.at(0, 1, 1, 1)];
  Digest result{0, some, some, 0};
  for_cells(shape, 1, [&](int v, int x, int y, int z) {
    const double value = block[shape.at(v, x, y, z)];
    result.squares += value * value;
    result.low = std::min(result.low, value);
    result.high = std::max(result.high, value);
    result.fingerprint += scatter(number(shape, place, v, {x, y, z}) ^ std::bit_cast<std::uint64_t>(value));
  });
  return result;
}

namespace {

// One row of cells from those around it.
APPS_FAST void average_row(double *__restrict to, const double *here, const double *south,
                           const double *north, const double *below, const double *above, int cells) {
  for (int x = 1; x <= cells; ++x) {
    const double u = here[x];
    const double flow = (here[x - 1] - u) + (here[x + 1] - u) + (south[x] - u) + (north[x] - u) +
                        (below[x] - u) + (above[x] - u);
    to[x] = u + flow * (1.0 / 7.0);
  }
}

} // namespace

Stencil::Stencil(const Shape &shape) : shape_(shape), below_(shape.stride(2)), here_(shape.stride(2)) {}

void Stencil::apply(Block &block, int first, int count) {
  const std::size_t row = shape_.stride(1), plane = shape_.stride(2);
  for (int v = first; v < first + count; ++v) {
    double *variable = block.data() + shape_.at(v, 0, 0, 0);
    std::copy_n(variable, plane, below_.data());
    for (int z = 1; z <= shape_.cells[2]; ++z) {
      double *to = variable + static_cast<std::size_t>(z) * plane;
      std::copy_n(to, plane, here_.data());
      for (int y = 1; y <= shape_.cells[1]; ++y) {
        const std::size_t at = static_cast<std::size_t>(y) * row;
        average_row(to + at, here_.data() + at, here_.data() + at - row, here_.data() + at + row,
                    below_.data() + at, to + at + plane, shape_.cells[0]);
      }
      below_.swap(here_);
    }
  }
}

} // namespace amr
