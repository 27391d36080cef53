// The functions of include/haloscope/stencil.h, in C and in Fortran.

#include "hide/layer/receiving.hpp"
#include "hide/layer/registering.hpp"
#include "interpose/report.hpp"

#define HALOSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace haloscope::stencil::layer;

HALOSCOPE_EXPORT int MPIX_Get_recv_buf(MPI_Status status, void **recv_buf) {
  if (!layer.running.load(std::memory_order_acquire)) return MPI_ERR_OTHER;
  const Lock lock;
  return find_buffer(status, recv_buf);
}

HALOSCOPE_EXPORT int MPIX_Release_recv_buf(MPI_Status status, void *recv_buf) {
  if (!layer.running.load(std::memory_order_acquire)) return MPI_ERR_OTHER;
  const Lock lock;
  return release_buffer(status, recv_buf);
}

HALOSCOPE_EXPORT int MPIX_Register_buf(void *memory, MPI_Aint bytes) {
  if (memory == nullptr || bytes <= 0) {
    haloscope::interpose::complain(
        "MPIX_Register_buf: there is no memory to register; pass its address and bytes");
    return MPI_ERR_ARG;
  }
  ensure_resolved();
  int initialised = 0;
  real.Initialized(&initialised);
  if (initialised == 0) {
    haloscope::interpose::complain("MPIX_Register_buf: call it after MPI_Init");
    return MPI_ERR_OTHER;
  }
  if (!layer.running.load(std::memory_order_acquire)) return MPI_SUCCESS; // there is nothing that it is for
  const Lock lock;
  return register_memory(memory, bytes);
}

HALOSCOPE_EXPORT int MPIX_Deregister_buf(void *memory) {
  if (layer.node == nullptr) return MPI_SUCCESS;
  const Lock lock;
  return deregister_memory(memory);
}

// Those of include/haloscope/stencil.f90; a status of Fortran's has the layout of C's.
HALOSCOPE_EXPORT void mpix_get_recv_buf_c(const MPI_Status *status, void **recv_buf, int *error) {
  *error = MPIX_Get_recv_buf(*status, recv_buf);
}

HALOSCOPE_EXPORT void mpix_release_recv_buf_c(const MPI_Status *status, void *recv_buf, int *error) {
  *error = MPIX_Release_recv_buf(*status, recv_buf);
}

HALOSCOPE_EXPORT void mpix_get_recv_buf_f08_c(const MPI_Status *status, void **recv_buf, int *error) {
  mpix_get_recv_buf_c(status, recv_buf, error);
}

HALOSCOPE_EXPORT void mpix_release_recv_buf_f08_c(const MPI_Status *status, void *recv_buf, int *error) {
  mpix_release_recv_buf_c(status, recv_buf, error);
}

HALOSCOPE_EXPORT void mpix_register_buf_c(void *memory, MPI_Aint bytes, int *error) {
  *error = MPIX_Register_buf(memory, bytes);
}

HALOSCOPE_EXPORT void mpix_deregister_buf_c(void *memory, int *error) {
  *error = MPIX_Deregister_buf(memory);
}
