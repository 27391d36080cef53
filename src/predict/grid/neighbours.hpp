// Ranks on a Cartesian grid, and which of a rank's neighbours are on its own node.
#pragma once

#include <mpi.h>

#include <vector>

namespace grid {

struct Neighbour {
  int rank = 0;
  int direction = 0; // 2 × dimension, and 1 more for the upper side
  bool near = false; // on this node
};

class Grid {
public:
  Grid(int dimensions, bool periodic) : sides_(static_cast<size_t>(dimensions), 0) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, dimensions, sides_.data());
    const std::vector<int> around(sides_.size(), periodic ? 1 : 0);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides_.data(), around.data(), 0, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    find();
  }
  ~Grid() { MPI_Comm_free(&comm_); }
  Grid(const Grid &) = delete;
  Grid &operator=(const Grid &) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<int> &sides() const { return sides_; }
  [[nodiscard]] const std::vector<Neighbour> &neighbours() const { return neighbours_; }

private:
  void find() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    for (int dimension = 0; dimension < static_cast<int>(sides_.size()); dimension++) {
      int lower = MPI_PROC_NULL, upper = MPI_PROC_NULL;
      MPI_Cart_shift(comm_, dimension, 1, &lower, &upper);
      add(lower, 2 * dimension, node);
      add(upper, 2 * dimension + 1, node);
    }
    int on_node = 0;
    MPI_Comm_rank(node, &on_node);
    const int first = on_node == 0 ? 1 : 0;
    MPI_Allreduce(&first, &nodes_, 1, MPI_INT, MPI_SUM, comm_);
    MPI_Comm_free(&node);
  }

  // A dimension of one rank has itself for a neighbour where it is periodic: there is nothing to send.
  void add(int rank, int direction, MPI_Comm node) {
    if (rank == MPI_PROC_NULL || rank == rank_) return;
    MPI_Group all = MPI_GROUP_NULL, here = MPI_GROUP_NULL;
    MPI_Comm_group(comm_, &all);
    MPI_Comm_group(node, &here);
    int found = MPI_UNDEFINED;
    MPI_Group_translate_ranks(all, 1, &rank, here, &found);
    MPI_Group_free(&all);
    MPI_Group_free(&here);
    neighbours_.push_back({rank, direction, found != MPI_UNDEFINED});
  }

  std::vector<int> sides_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int nodes_ = 1;
  std::vector<Neighbour> neighbours_;
};

} // namespace grid
