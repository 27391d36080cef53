#include "problem.hpp"

#include "../common/mpi.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cg {

namespace {

using Long3 = std::array<long, 3>;

// Fills own points from value(place of the point in the whole grid, size of the whole grid).
template <typename Value> Field fill(Shape shape, const apps::ProcessGrid &grid, Value &&value) {
  Field field(shape);
  Long3 origin, size;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    origin[axis] = static_cast<long>(grid.coords[axis]) * shape.n[axis];
    size[axis] = static_cast<long>(grid.dims[axis]) * shape.n[axis];
  }
  field.for_each_row([&](int j, int k, double *row) {
    for (int i = 1; i <= shape.n[0]; ++i)
      row[i] = value(Long3{origin[0] + i - 1, origin[1] + j - 1, origin[2] + k - 1}, size);
  });
  return field;
}

// The finaliser of SplitMix64: any change of the input changes about half of the output's bits.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

} // namespace

Field row_sums(Shape shape, const apps::ProcessGrid &grid) {
  return fill(shape, grid, [](Long3 at, Long3 size) {
    int points = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      points *= 1 + (at[axis] > 0 ? 1 : 0) + (at[axis] + 1 < size[axis] ? 1 : 0);
    return 27.0 - points;
  });
}

Field scattered(Shape shape, const apps::ProcessGrid &grid, unsigned seed) {
  return fill(shape, grid, [seed](Long3 at, Long3 size) {
    const auto number = static_cast<std::uint64_t>(at[0] + size[0] * (at[1] + size[1] * at[2]));
    const std::uint64_t bits = mix(mix(number + 1) + seed) >> 11U;
    return std::ldexp(static_cast<double>(bits), -52) - 1.0;
  });
}

double error(const Field &x) {
  const auto [nx, ny, nz] = x.shape().n;
  double local = 0, global = 0;
  for (int k = 1; k <= nz; ++k)
    for (int j = 1; j <= ny; ++j)
      for (int i = 1; i <= nx; ++i) local = std::max(local, std::abs(x.row(j, k)[i] - 1.0));
  MPI_Allreduce(&local, &global, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return global;
}

} // namespace cg
