#include "results.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace amr {

namespace {

// Integer sums do not depend on their order. Values of a cell are between 0 and 1. So the sum of all cells
// needs only the bits of their number before the point, and nothing overflows.
class FixedPoint {
public:
  explicit FixedPoint(const Mesh &mesh) {
    std::uint64_t cells = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      cells *= static_cast<std::uint64_t>(mesh.tree().roots()[axis]) *
               static_cast<std::uint64_t>(mesh.shape().cells[axis]);
    bits_ = 61 - static_cast<int>(std::bit_width(cells));
  }

  // A sum over a block's cells, each as large as its level says.
  std::int64_t from(double sum, int level) const { return std::llrint(std::ldexp(sum, bits_ - 3 * level)); }
  double to(std::int64_t value) const { return std::ldexp(static_cast<double>(value), -bits_); }

private:
  int bits_;
};

template <typename Visit> void for_blocks(const Mesh &mesh, Visit &&visit) {
  for (std::size_t n = 0; n < mesh.blocks().size(); ++n)
    if (!mesh.blocks()[n].empty()) visit(mesh.blocks()[n], mesh.tree().leaves()[n].place);
}

} // namespace

std::vector<double> checksums(const Mesh &mesh) {
  const FixedPoint fixed(mesh);
  const auto variables = static_cast<std::size_t>(mesh.shape().variables);
  std::vector<std::int64_t> integers(variables);
  for_blocks(mesh, [&](const Block &block, const Place &place) {
    std::vector<double> totals(variables);
    add_totals(mesh.shape(), block, totals);
    for (std::size_t v = 0; v < variables; ++v) integers[v] += fixed.from(totals[v], place.level);
  });
  MPI_Allreduce(MPI_IN_PLACE, integers.data(), mesh.shape().variables, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  std::vector<double> result(variables);
  std::ranges::transform(integers, result.begin(), [&](std::int64_t sum) { return fixed.to(sum); });
  return result;
}

Results results(const Mesh &mesh) {
  const FixedPoint fixed(mesh);
  std::int64_t squares = 0;
  std::uint64_t fingerprint = 0;
  double extremes[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for_blocks(mesh, [&](const Block &block, const Place &place) {
    const Digest one = digest(mesh.shape(), block, place);
    squares += fixed.from(one.squares / mesh.shape().variables, place.level);
    fingerprint += one.fingerprint;
    extremes[0] = std::min(extremes[0], one.low);
    extremes[1] = std::min(extremes[1], -one.high);
  });
  MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &fingerprint, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return {fixed.to(squares) * mesh.shape().variables, extremes[0], -extremes[1], fingerprint};
}

} // namespace amr
