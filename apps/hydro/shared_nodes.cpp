#include "shared_nodes.hpp"

#include <algorithm>
#include <haloscope/region.hpp>

namespace hydro {

namespace {

constexpr int broadcast_tag = 1, reduction_tag = 2;

template <typename Visit> void for_rows(const Partition &partition, const NodeBox &box, Visit &&visit) {
  for (int k = box.first[2]; k <= box.last[2]; ++k)
    for (int j = box.first[1]; j <= box.last[1]; ++j)
      visit(partition.node_at(box.first[0], j, k), static_cast<std::ptrdiff_t>(box.count(0)));
}

} // namespace

SharedNodes::SharedNodes(const Partition &partition) : partition_(partition) {
  for (int z = 0; z <= 1; ++z)
    for (int y = 0; y <= 1; ++y)
      for (int x = 0; x <= 1; ++x) {
        add_link(owned_, {x, y, z}, 1);
        add_link(others_, {x, y, z}, -1);
      }
  requests_.resize(owned_.size() + others_.size());
}

// On the side of a higher neighbour: the last layer. On the side of a lower one: the first layer. The lower
// neighbour owns all of it, except nodes that it shares with ranks still lower along the other axes.
void SharedNodes::add_link(std::vector<Link> &links, Int3 offset, int side) {
  const apps::ProcessGrid &grid = partition_.grid();
  const int rank = grid.neighbour({side * offset[0], side * offset[1], side * offset[2]});
  if (rank < 0 || offset == Int3{0, 0, 0}) return;
  NodeBox nodes = partition_.owned();
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (offset[axis] != 0) nodes.first[axis] = nodes.last[axis] = side > 0 ? partition_.nodes()[axis] - 1 : 0;
  links.push_back({rank, nodes, std::vector<double>(static_cast<std::size_t>(nodes.size()))});
}

void SharedNodes::start(std::vector<Link> &out, std::vector<Link> &in, const double *field, int tag) {
  auto request = requests_.begin();
  for (Link &from : in)
    MPI_Irecv(from.buffer.data(), from.nodes.size(), MPI_DOUBLE, from.rank, tag, MPI_COMM_WORLD, &*request++);
  for (Link &to : out) {
    double *value = to.buffer.data();
    for_rows(partition_, to.nodes,
             [&](std::size_t at, std::ptrdiff_t length) { value = std::copy_n(field + at, length, value); });
    MPI_Isend(to.buffer.data(), to.nodes.size(), MPI_DOUBLE, to.rank, tag, MPI_COMM_WORLD, &*request++);
  }
}

void SharedNodes::broadcast(double *field) {
  const haloscope::Region region{"broadcast"};
  const haloscope::CommRegion exchange{"halo_exchange"};
  start(owned_, others_, field, broadcast_tag);
  int index = 0;
  while (MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &index, MPI_STATUS_IGNORE),
         index != MPI_UNDEFINED) {
    if (index >= static_cast<int>(others_.size())) continue; // something was sent
    const Link &from = others_[static_cast<std::size_t>(index)];
    const double *value = from.buffer.data();
    for_rows(partition_, from.nodes, [&](std::size_t at, std::ptrdiff_t length) {
      std::copy_n(value, length, field + at);
      value += length;
    });
  }
}

// In the order of the neighbours, whichever comes first: sums are the same each time.
void SharedNodes::reduce(double *field) {
  const haloscope::Region region{"reduction"};
  const haloscope::CommRegion exchange{"halo_exchange"};
  start(others_, owned_, field, reduction_tag);
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  for (const Link &from : owned_) {
    const double *value = from.buffer.data();
    for_rows(partition_, from.nodes, [&](std::size_t at, std::ptrdiff_t length) {
      std::transform(value, value + length, field + at, field + at, std::plus<>{});
      value += length;
    });
  }
}

} // namespace hydro
