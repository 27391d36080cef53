// A rank's share of the mesh: a box of zones, and the nodes of their kinematic basis. A node on the border of
// several boxes is on each of their ranks; the lowest of these owns it.
#ifndef APPS_HYDRO_PARTITION_HPP
#define APPS_HYDRO_PARTITION_HPP

#include "../common/process_grid.hpp"
#include "contraction.hpp"
#include "parameters.hpp"

namespace hydro {

// Nodes first…last, inclusive, along each axis.
struct NodeBox {
  Int3 first, last;

  int count(std::size_t axis) const { return last[axis] - first[axis] + 1; }
  int size() const { return count(0) * count(1) * count(2); }
};

class Partition {
public:
  Partition(const Parameters &p, int rank);

  const apps::ProcessGrid &grid() const { return grid_; }
  // Of the whole mesh, of this rank, and where the rank's begin.
  Int3 all_zones() const { return all_; }
  Int3 zones() const { return zones_; }
  Int3 origin() const { return origin_; }
  int zone_count() const { return zones_[0] * zones_[1] * zones_[2]; }
  long all_zone_count() const { return static_cast<long>(all_[0]) * all_[1] * all_[2]; }

  // Nodes of this rank along an axis, x fastest in fields of nodes; those that it owns; of the whole mesh.
  Int3 nodes() const { return nodes_; }
  std::size_t node_count() const {
    return static_cast<std::size_t>(nodes_[0]) * static_cast<std::size_t>(nodes_[1]) *
           static_cast<std::size_t>(nodes_[2]);
  }
  const NodeBox &owned() const { return owned_; }
  long all_node_count() const;
  std::size_t node_at(int i, int j, int k) const {
    const auto at = [](int n) { return static_cast<std::size_t>(n); };
    return at(i) + at(nodes_[0]) * (at(j) + at(nodes_[1]) * at(k));
  }

  // Zones are worked on in batches; the lanes of the last one may have none.
  int batches() const { return (zone_count() + lanes - 1) / lanes; }
  int used(int batch) const { return std::min(lanes, zone_count() - batch * lanes); }
  Int3 zone_at(int number) const; // within the rank

  // Values at the nodes of a batch's zones, (order + 1)³ by lanes; lanes without a zone repeat the first.
  void gather(int batch, const double *field, double *values) const;
  // Adds them to the nodes.
  void scatter_add(int batch, const double *values, double *field) const;

  // Visits rows of nodes that the rank owns: visit(index of the first, number).
  template <typename Visit> void for_owned_rows(Visit &&visit) const {
    for (int k = owned_.first[2]; k <= owned_.last[2]; ++k)
      for (int j = owned_.first[1]; j <= owned_.last[1]; ++j)
        visit(node_at(owned_.first[0], j, k), owned_.count(0));
  }

private:
  int order_;
  apps::ProcessGrid grid_;
  Int3 all_, zones_{}, origin_{}, nodes_{};
  NodeBox owned_{};
  std::vector<std::size_t> corners_, offsets_; // of zones among nodes, and of a zone's nodes from there
};

} // namespace hydro

#endif
