// Receives that may bring a token, and the messages that tokens represent.
#pragma once

#include "hide/shm/known_requests.hpp"

#include <cstdlib>

namespace haloscope::shm {

// A token does not fit into a smaller buffer.
inline bool may_bring_token(const Target &target) noexcept {
  return bytes_of(target.count, target.type) >= shortest_token;
}

// MPICH reports a message as truncated if it ends within an element of a type with holes, as a token may.
// MPICH 5.0 ends the program if it ends within any element. So such a receive is changed into a receive of
// bytes. If the type has holes, it goes into a buffer of its own, which is returned here and freed by the
// request.
inline bool is_redirected([[maybe_unused]] MPI_Count count, [[maybe_unused]] MPI_Datatype type) {
#if defined(HALOSCOPE_ABI_OPENMPI)
  return false;
#else
  // A sender whose type has holes sends tokens in place of smaller messages, too.
  const std::uint64_t bytes = bytes_of(count, type);
  return bytes >= shm.threshold_with_holes && bytes <= INT32_MAX;
#endif
}

template <class Count>
std::byte *redirect(void *&buffer, Count &count, MPI_Datatype &type, std::uint64_t bytes) noexcept {
  if (!is_redirected(count, type)) return nullptr;
  std::byte *bounce = nullptr;
  if (!shape_of(type).contiguous) {
    bounce = static_cast<std::byte *>(std::malloc(bytes));
    if (bounce == nullptr) return nullptr;
    buffer = bounce;
  }
  count = static_cast<Count>(bytes);
  type = MPI_BYTE;
  return bounce;
}

// Returns whether MPI may complete it; a large one has its data then.
bool poll_receive(Request &request);
// After MPI has completed it: gets the data if it is not there, and puts the status right. An MPI error.
int end_receive(Request &request, MPI_Status &status);
// The same for a receive that has blocked.
int receive_now(const Target &target, MPI_Status &status, std::byte *bounce = nullptr);

// Puts the true size into a status that a probe has given.
void correct_probe(MPI_Comm comm, MPI_Status *status);

// Receive buffers of ours (MPIX_Get_recv_buf): taken when the receive is posted.
bool wants_buffer(const void *buffer, MPI_Count count, MPI_Datatype type);
void *take_pooled(std::size_t bytes);        // nullptr: the pool has run out
void *take_buffer(std::size_t bytes);        // then memory that others cannot reach
void give_back(void *buffer) noexcept;       // of a receive that brought nothing
void lend(void *buffer, MPI_Status &status); // to the program, which finds it by the status
int find_buffer(const MPI_Status &status, void **buffer);
int release_buffer(const MPI_Status &status, void *buffer);
std::size_t lent_buffers() noexcept;

} // namespace haloscope::shm
