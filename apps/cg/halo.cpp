#include "halo.hpp"

#include <algorithm>
#include <haloscope/region.hpp>

namespace cg {

namespace {

// A message's tag names the direction it travels in.
int direction_tag(Int3 offset) { return (offset[0] + 1) + 3 * (offset[1] + 1) + 9 * (offset[2] + 1); }

template <typename Box, typename Visit> void for_each_run(const Shape &shape, const Box &box, Visit &&visit) {
  const std::ptrdiff_t length = box.last[0] - box.first[0] + 1;
  for (int k = box.first[2]; k <= box.last[2]; ++k)
    for (int j = box.first[1]; j <= box.last[1]; ++j) visit(shape.at(box.first[0], j, k), length);
}

} // namespace

int Halo::Box::points() const {
  return (last[0] - first[0] + 1) * (last[1] - first[1] + 1) * (last[2] - first[2] + 1);
}

Halo::Halo(Shape shape, const apps::ProcessGrid &grid) : shape_(shape) {
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        const Int3 offset{x, y, z};
        const int rank = grid.neighbour(offset);
        if (rank >= 0 && offset != Int3{0, 0, 0}) add_neighbour(offset, rank);
      }
  requests_.resize(2 * neighbours_.size());
}

void Halo::add_neighbour(Int3 offset, int rank) {
  Box border, ghosts;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int n = shape_.n[axis];
    const int side = offset[axis];
    border.first[axis] = side > 0 ? n : 1;
    border.last[axis] = side < 0 ? 1 : n;
    ghosts.first[axis] = side < 0 ? 0 : side > 0 ? n + 1 : 1;
    ghosts.last[axis] = side < 0 ? 0 : side > 0 ? n + 1 : n;
  }
  const auto points = static_cast<std::size_t>(border.points());
  neighbours_.push_back({rank, direction_tag(offset), direction_tag({-offset[0], -offset[1], -offset[2]}),
                         border, ghosts, std::vector<double>(points), std::vector<double>(points)});
}

void Halo::exchange(Field &field) {
  const haloscope::CommRegion region{"halo_exchange"};
  double *values = field.values().data();
  auto request = requests_.begin();
  for (Neighbour &from : neighbours_)
    MPI_Irecv(from.incoming.data(), from.ghosts.points(), MPI_DOUBLE, from.rank, from.recv_tag,
              MPI_COMM_WORLD, &*request++);
  for (Neighbour &to : neighbours_) {
    double *out = to.outgoing.data();
    for_each_run(shape_, to.border, [&](std::ptrdiff_t at, std::ptrdiff_t length) {
      out = std::copy_n(values + at, length, out);
    });
    MPI_Isend(to.outgoing.data(), to.border.points(), MPI_DOUBLE, to.rank, to.send_tag, MPI_COMM_WORLD,
              &*request++);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  for (const Neighbour &from : neighbours_) {
    const double *in = from.incoming.data();
    for_each_run(shape_, from.ghosts, [&](std::ptrdiff_t at, std::ptrdiff_t length) {
      std::copy_n(in, length, values + at);
      in += length;
    });
  }
}

} // namespace cg
