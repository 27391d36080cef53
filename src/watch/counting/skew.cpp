// Skew: the waiting in a collective until the last rank arrives. A barrier before one call per interval
// measures it.
#include "watch/counting/collectives.hpp"

#include <new>

namespace haloscope::watch {

namespace {

// The measured calls of a communicator. All ranks measure the same calls, because they count the same calls.
struct Turns {
  bool measured;
  VaryingInterval interval;
};

int forget_turns(MPI_Comm /*comm*/, int /*key*/, void *turns, void * /*extra*/) noexcept {
  delete static_cast<Turns *>(turns);
  return MPI_SUCCESS;
}

// MPI_COMM_NULL_COPY_FN is a symbol of the library, which may be opened late.
int inherit_nothing(MPI_Comm /*comm*/, int /*key*/, void * /*extra*/, void * /*turns*/, void * /*copy*/,
                    int *flag) noexcept {
  *flag = 0;
  return MPI_SUCCESS;
}

int make_key() noexcept {
  int key = MPI_KEYVAL_INVALID;
  real.Comm_create_keyval(inherit_nothing, forget_turns, &key, nullptr);
  return key;
}

// Calls on one communicator have the same order on all its ranks, calls on several communicators have not. So
// each communicator has its own turns, as an attribute that duplicates do not inherit. Communicators with
// processes of a different world are not measured: those may have no recorder.
Turns *turns_of(MPI_Comm comm) noexcept {
  static const int key = make_key();
  void *turns = nullptr;
  int found = 0;
  if (comm == MPI_COMM_NULL ||
      real.Comm_get_attr(comm, key, static_cast<void *>(&turns), &found) != MPI_SUCCESS)
    return nullptr;
  if (found != 0) return static_cast<Turns *>(turns);
  auto *made = new (std::nothrow) Turns{.measured = is_inside_world(comm)};
  if (made == nullptr) return nullptr;
  made->interval.draw(global().sync_collectives);
  real.Comm_set_attr(comm, key, made);
  return made;
}

} // namespace

std::uint64_t wait_for_others(MPI_Comm comm) noexcept {
  Turns *turns = turns_of(comm);
  if (turns == nullptr || !turns->measured || --turns->interval.left != 0) return 0;
  const unsigned stands_for = turns->interval.length;
  turns->interval.draw(global().sync_collectives);
  const std::uint64_t begin = ticks();
  real.Barrier(comm);
  return (ticks() - begin) * stands_for;
}

void let_others_wait(MPI_Comm comm) noexcept {
  const Phase phase = global().phase;
  if (this_thread() == nullptr && (phase == Phase::running || phase == Phase::aside)) wait_for_others(comm);
}

} // namespace haloscope::watch
