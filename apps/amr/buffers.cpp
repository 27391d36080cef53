#include "buffers.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <new>

namespace amr {

void Buffer::reserve(std::size_t size) {
  if (size <= size_) return;
  release();
  const std::size_t bytes = size * sizeof(double);
  if (from_mpi_)
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void *>(&data_));
  else
    data_ = static_cast<double *>(std::malloc(bytes));
  if (data_ == nullptr) throw std::bad_alloc();
  size_ = size;
}

void Buffer::release() {
  if (data_ == nullptr) return;
  if (from_mpi_)
    MPI_Free_mem(data_);
  else
    std::free(data_);
  data_ = nullptr;
  size_ = 0;
}

// Looked up, so that the program runs without them.
ReceiveBuffers receive_buffers() {
  ReceiveBuffers found;
  found.get = reinterpret_cast<int (*)(MPI_Status, void **)>(dlsym(RTLD_DEFAULT, "MPIX_Get_recv_buf"));
  found.release = reinterpret_cast<int (*)(MPI_Status, void *)>(dlsym(RTLD_DEFAULT, "MPIX_Release_recv_buf"));
  return found;
}

} // namespace amr
