// Communication about shared nodes, in the two directions of MFEM's group communication: owners broadcast
// values to the other ranks, and reduce the other ranks' contributions. Owners are the lowest ranks. So a
// broadcast goes to neighbours at offsets of 0 and 1 along the axes, up to seven, and a reduction back.
#ifndef APPS_HYDRO_SHARED_NODES_HPP
#define APPS_HYDRO_SHARED_NODES_HPP

#include "../common/mpi.hpp"
#include "partition.hpp"

namespace hydro {

class SharedNodes {
public:
  explicit SharedNodes(const Partition &partition);

  // Gives nodes that others own their values. Collective over the neighbourhood, as is the next.
  void broadcast(double *field);
  // Adds the others' contributions to the nodes that this rank owns.
  void reduce(double *field);

private:
  // Of a neighbour: nodes that this rank owns and the neighbour has, or the other way round.
  struct Link {
    int rank;
    NodeBox nodes;
    std::vector<double> buffer;
  };

  void add_link(std::vector<Link> &links, Int3 offset, int side);
  void start(std::vector<Link> &out, std::vector<Link> &in, const double *field, int tag);

  const Partition &partition_;
  std::vector<Link> owned_, others_;
  std::vector<MPI_Request> requests_; // first what is received
};

} // namespace hydro

#endif
