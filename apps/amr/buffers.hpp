// Memory that messages are packed into and received in.
#ifndef APPS_AMR_BUFFERS_HPP
#define APPS_AMR_BUFFERS_HPP

#include "../common/mpi.hpp"

#include <cstddef>

namespace amr {

// Grows and never shrinks; from MPI_Alloc_mem, which a library may back by memory that ranks share, or
// malloc.
class Buffer {
public:
  explicit Buffer(bool from_mpi) : from_mpi_(from_mpi) {}
  ~Buffer() { release(); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  // Makes room for that many numbers; what was in it may be lost.
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

} // namespace amr

#endif
