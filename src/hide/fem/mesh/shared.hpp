// What all levels of a forest share.
#pragma once

#include "hide/fem/mesh/communicator.hpp"
#include "hide/fem/mesh/forest.hpp"

#include <p8est.h>

namespace haloscope::fem {

struct Forest::Shared {
  Shared(MPI_Comm parent, const std::array<int, 3> &brick)
      : communicator(parent), trees(brick),
        connectivity(p8est_connectivity_new_brick(brick[0], brick[1], brick[2], 0, 0, 0)) {}
  Shared(const Shared &) = delete;
  Shared &operator=(const Shared &) = delete;
  Shared(Shared &&) = delete;
  Shared &operator=(Shared &&) = delete;
  ~Shared() { p8est_connectivity_destroy(connectivity); }

  // Where a tree's lower corner is in the brick, in trees.
  [[nodiscard]] double place(std::int32_t tree, std::size_t direction) const noexcept {
    const p4est_topidx_t vertex =
        connectivity->tree_to_vertex[static_cast<std::ptrdiff_t>(P8EST_CHILDREN) * tree];
    return connectivity->vertices[3 * static_cast<std::size_t>(vertex) + direction];
  }

  Communicator communicator;
  std::array<int, 3> trees;
  p8est_connectivity_t *connectivity;
};

} // namespace haloscope::fem
