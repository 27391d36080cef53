// Receive buffers that belong to the shm library, and the functions of include/haloscope/shm.h, in C and
// Fortran.
#include "hide/shm/receiving.hpp"
#include "hide/shm/registering.hpp"
#include "interpose/report.hpp"

#include <cstdlib>
#include <string>
#include <unordered_map>

namespace haloscope::shm {

namespace {

// A status says which buffer by its MPI_ERROR, which MPI leaves undefined where nothing went wrong.
constexpr int first_number = 0x4800'0000;

struct Buffer {
  std::size_t bytes = 0;
  int number = 0; // 0: no receive was completed with it
};
std::unordered_map<void *, Buffer> buffers; // NOLINT(bugprone-throwing-static-initialization)
std::unordered_map<int, void *> lent;       // NOLINT(bugprone-throwing-static-initialization): by number
std::size_t bytes_out = 0;
int last_number = first_number;

void free_buffer(void *buffer, std::size_t bytes) noexcept {
  if (shm.node->arena().holds(buffer)) {
    shm.node->arena().give(buffer);
    bytes_out -= bytes;
  } else {
    std::free(buffer);
  }
}

} // namespace

// MPI_BOTTOM is a null pointer, too, but then the type has absolute addresses.
bool wants_buffer(const void *buffer, MPI_Count count, MPI_Datatype type) {
  if (buffer != nullptr || count <= 0) return false;
  MPI_Count low = 0, extent = 0;
  return real.Type_get_true_extent_x(type, &low, &extent) == MPI_SUCCESS && low == 0 && extent > 0;
}

void *take_pooled(std::size_t bytes) {
  if (bytes > shm.options.pool - std::min(bytes_out, shm.options.pool)) return nullptr;
  void *found = shm.node->arena().take(bytes, line);
  if (found == nullptr) return nullptr;
  bytes_out += bytes;
  buffers[found] = {bytes, 0};
  return found;
}

void *take_buffer(std::size_t bytes) {
  if (void *pooled = take_pooled(bytes)) return pooled;
  void *found = std::malloc(bytes);
  if (found != nullptr) buffers[found] = {bytes, 0};
  return found;
}

void give_back(void *buffer) noexcept {
  const auto found = buffers.find(buffer);
  if (found == buffers.end()) return;
  free_buffer(buffer, found->second.bytes);
  lent.erase(found->second.number);
  buffers.erase(found);
}

void lend(void *buffer, MPI_Status &status) {
  const auto found = buffers.find(buffer);
  if (found == buffers.end()) return;
  last_number = last_number == INT32_MAX ? first_number + 1 : last_number + 1;
  found->second.number = last_number;
  lent[last_number] = buffer;
  status.MPI_ERROR = last_number;
}

int find_buffer(const MPI_Status &status, void **buffer) {
  if (const auto found = lent.find(status.MPI_ERROR); found != lent.end()) {
    *buffer = found->second;
    return MPI_SUCCESS;
  }
  interpose::complain("MPIX_Get_recv_buf: no receive buffer of the library belongs to this status; pass the "
                      "unchanged status, before the buffer is released");
  return MPI_ERR_ARG;
}

int release_buffer(const MPI_Status &status, void *buffer) {
  const auto found = buffers.find(buffer);
  if (found == buffers.end() || found->second.number == 0 || found->second.number != status.MPI_ERROR) {
    interpose::complain("MPIX_Release_recv_buf: this buffer does not belong to this status; release "
                        "each buffer once, with its own status");
    return MPI_ERR_BUFFER;
  }
  give_back(buffer);
  return MPI_SUCCESS;
}

std::size_t lent_buffers() noexcept { return lent.size(); }

} // namespace haloscope::shm

#define HALOSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace haloscope::shm;

HALOSCOPE_EXPORT int MPIX_Get_recv_buf(MPI_Status status, void **recv_buf) {
  if (!shm.running.load(std::memory_order_acquire)) return MPI_ERR_OTHER;
  const Lock lock;
  return find_buffer(status, recv_buf);
}

HALOSCOPE_EXPORT int MPIX_Release_recv_buf(MPI_Status status, void *recv_buf) {
  if (!shm.running.load(std::memory_order_acquire)) return MPI_ERR_OTHER;
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
  if (!shm.running.load(std::memory_order_acquire)) return MPI_SUCCESS; // there is nothing that it is for
  const Lock lock;
  return register_memory(memory, bytes);
}

HALOSCOPE_EXPORT int MPIX_Deregister_buf(void *memory) {
  if (shm.node == nullptr) return MPI_SUCCESS;
  const Lock lock;
  return deregister_memory(memory);
}

// The functions of include/haloscope/shm.f90. A Fortran status has the layout of a C status.
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
