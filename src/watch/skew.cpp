// How much later the last rank comes to a collective: measured by a barrier before one call in so many.
#include "collectives.hpp"

#include <new>

namespace haloscope::watch {

namespace {

int forget_counter(MPI_Comm /*comm*/, int /*key*/, void *counter, void * /*extra*/) noexcept {
  delete static_cast<std::uint64_t *>(counter);
  return MPI_SUCCESS;
}

// MPI_COMM_NULL_COPY_FN is a symbol of the library, which may be opened late.
int inherit_nothing(MPI_Comm /*comm*/, int /*key*/, void * /*extra*/, void * /*counter*/, void * /*copy*/,
                    int *flag) noexcept {
  *flag = 0;
  return MPI_SUCCESS;
}

int make_key() noexcept {
  int key = MPI_KEYVAL_INVALID;
  real.Comm_create_keyval(inherit_nothing, forget_counter, &key, nullptr);
  return key;
}

// Calls on one communicator are in the same order on all its ranks, those on several are not: each has
// a counter of its own, as an attribute that duplicates do not inherit.
std::uint64_t *counter_of(MPI_Comm comm) noexcept {
  static const int key = make_key();
  void *counter = nullptr;
  int found = 0;
  if (comm == MPI_COMM_NULL ||
      real.Comm_get_attr(comm, key, static_cast<void *>(&counter), &found) != MPI_SUCCESS)
    return nullptr;
  if (found != 0) return static_cast<std::uint64_t *>(counter);
  auto *made = new (std::nothrow) std::uint64_t{0};
  if (made != nullptr) real.Comm_set_attr(comm, key, made);
  return made;
}

} // namespace

std::uint64_t wait_for_others(MPI_Comm comm) noexcept {
  std::uint64_t *counter = counter_of(comm);
  if (counter == nullptr || ++*counter % global.sync_interval != 0) return 0;
  const std::uint64_t begin = ticks();
  real.Barrier(comm);
  return (ticks() - begin) * global.sync_interval;
}

} // namespace haloscope::watch
