// The exchange of faces between blocks, and the memory that its messages are packed into and received in.
#ifndef APPS_AMR_HALO_HPP
#define APPS_AMR_HALO_HPP

#include "../common/mpi.hpp"
#include "faces.hpp"

#include <cstddef>

namespace amr {

// Memory that messages are packed into and received in. It grows and never shrinks; from MPI_Alloc_mem, which
// a library may back by memory that ranks share, or malloc.
class Buffer {
public:
  explicit Buffer(bool from_mpi) : from_mpi_(from_mpi) {}
  ~Buffer() { release(); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  // Provides space for `size` numbers. Earlier contents may be lost.
  void reserve(std::size_t size);
  double *data() const { return data_; }

private:
  void release();

  bool from_mpi_;
  double *data_ = nullptr;
  std::size_t size_ = 0;
};

// Receive buffers of the library below: a proposed extension of MPI, where it is there.
struct ReceiveBuffers {
  int (*get)(MPI_Status, void **) = nullptr;
  int (*release)(MPI_Status, void *) = nullptr;

  explicit operator bool() const { return get != nullptr && release != nullptr; }
};
ReceiveBuffers receive_buffers();

// The exchange of faces: axis after axis, one message to each rank that has neighbours along it.
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
