#include "partition.hpp"

namespace hydro {

Partition::Partition(const Parameters &p, int rank)
    : order_(p.kinematic_order), grid_(p.procs, rank), all_(p.zones()) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const apps::Part part = apps::part_of(all_[axis], grid_.dims[axis], grid_.coords[axis]);
    origin_[axis] = part.first;
    zones_[axis] = part.count;
    nodes_[axis] = order_ * part.count + 1;
    owned_.first[axis] = grid_.coords[axis] > 0 ? 1 : 0;
    owned_.last[axis] = nodes_[axis] - 1;
  }
  for (int zone = 0; zone < zone_count(); ++zone) {
    const Int3 at = zone_at(zone);
    corners_.push_back(node_at(order_ * at[0], order_ * at[1], order_ * at[2]));
  }
  for (int k = 0; k <= order_; ++k)
    for (int j = 0; j <= order_; ++j)
      for (int i = 0; i <= order_; ++i) offsets_.push_back(node_at(i, j, k));
}

long Partition::all_node_count() const {
  long count = 1;
  for (const int zones : all_) count *= static_cast<long>(order_) * zones + 1;
  return count;
}

Int3 Partition::zone_at(int number) const {
  return {number % zones_[0], number / zones_[0] % zones_[1], number / zones_[0] / zones_[1]};
}

void Partition::gather(int batch, const double *field, double *values) const {
  std::array<const double *, lanes> from{};
  for (int lane = 0; lane < lanes; ++lane) {
    const int zone = batch * lanes + (lane < used(batch) ? lane : 0);
    from[static_cast<std::size_t>(lane)] = field + corners_[static_cast<std::size_t>(zone)];
  }
  for (const std::size_t offset : offsets_)
    for (const double *corner : from) *values++ = corner[offset];
}

void Partition::scatter_add(int batch, const double *values, double *field) const {
  const auto first = static_cast<std::size_t>(batch) * lanes;
  const auto count = static_cast<std::size_t>(used(batch));
  for (std::size_t n = 0; n < offsets_.size(); ++n)
    for (std::size_t lane = 0; lane < count; ++lane)
      field[corners_[first + lane] + offsets_[n]] += values[n * lanes + lane];
}

} // namespace hydro
