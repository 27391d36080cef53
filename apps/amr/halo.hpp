// The exchange of faces: axis after axis, one message to each rank that has neighbours along it.
#ifndef APPS_AMR_HALO_HPP
#define APPS_AMR_HALO_HPP

#include "buffers.hpp"
#include "faces.hpp"

namespace amr {

struct Traffic {
  long messages = 0, bytes = 0; // that this rank sent
};

class Halo {
public:
  // `group`: variables at a time, at most; `library_buffers`: messages are received where the library wants
  // them.
  Halo(const Shape &shape, int group, bool from_mpi, ReceiveBuffers library_buffers);

  // Finds out who exchanges what. To be called after every change of the tree.
  void plan(const Tree &tree, int rank);
  // Sets all ghosts of some variables; `blocks` are the tree's, those of other ranks empty.
  void exchange(std::vector<Block> &blocks, Variables which);
  const Traffic &traffic() const { return traffic_; }

private:
  // Both sides of a face list it in the same order, so that messages need no headers.
  struct Partner {
    int rank = 0;
    std::vector<Face> faces;
    std::size_t values = 0; // of a variable
    std::size_t offset = 0; // of a variable, before this partner
  };
  struct Pair {
    Face first, second;
  };
  struct Axis {
    std::vector<Partner> partners;
    std::vector<Pair> local;
    std::vector<Face> boundary;
    std::size_t values = 0; // of a variable, to and from all partners
  };

  void add(int axis, Relation seen, const Tree &tree, int leaf, int other, int rank);
  static Partner &partner(Axis &axis, int rank);
  void receive(const Axis &axis, int tag, Variables which);
  void send(const Axis &axis, int tag, const std::vector<Block> &blocks, Variables which);
  void within(const Axis &axis, std::vector<Block> &blocks, Variables which);
  void finish(const Axis &axis, std::vector<Block> &blocks, Variables which);
  void unpack_message(const Partner &from, std::vector<Block> &blocks, Variables which, const double *values);

  void reserve();

  Shape shape_;
  int group_;
  ReceiveBuffers library_;
  std::array<Axis, 3> axes_;
  Buffer sent_, received_;
  std::vector<double> face_;
  std::vector<MPI_Request> sends_, receives_;
  Traffic traffic_;
};

} // namespace amr

#endif
