// Halo exchange with up to 26 neighbours: faces, edges and corners, each message exactly the points
// that the neighbour's 27-point operator reads.
#ifndef APPS_CG_HALO_HPP
#define APPS_CG_HALO_HPP

#include "../common/mpi.hpp"
#include "../common/process_grid.hpp"
#include "field.hpp"

namespace cg {

class Halo {
public:
  Halo(Shape shape, const apps::ProcessGrid &grid);

  // Fills the ghosts of `field` from the neighbours. Collective over the neighbourhood.
  void exchange(Field &field);

private:
  // Points first…last, inclusive, in each direction.
  struct Box {
    Int3 first, last;
    int points() const;
  };
  struct Neighbour {
    int rank, send_tag, recv_tag;
    Box border, ghosts;
    std::vector<double> outgoing, incoming;
  };

  void add_neighbour(Int3 offset, int rank);

  Shape shape_;
  std::vector<Neighbour> neighbours_;
  std::vector<MPI_Request> requests_;
};

} // namespace cg

#endif
