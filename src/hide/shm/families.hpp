// The families of functions for the generated wrappers; meanings.py names them. completing.hpp and
// any_and_some.hpp have those of requests, exchanges.hpp and sends_and_receives.hpp those of messages.
#pragma once

#include "hide/shm/any_and_some.hpp"
#include "hide/shm/completing.hpp"
#include "hide/shm/exchanges.hpp"
#include "hide/shm/holding.hpp"

namespace haloscope::shm {

// Calls below the threshold, which are most: what generated wrappers do before they call anything else.
// Without a call the compiler saves no registers. A type that is not known yet takes the long way, which asks
// for it.

// Relaxed, as nothing that it guards is read after it; so the compiler computes it once for two conditions.
inline bool seems_running() noexcept { return shm.running.load(std::memory_order_relaxed); }

inline std::uint64_t bytes_if_known(MPI_Count count, MPI_Datatype type) noexcept {
  const Shape *shape = known_shape(type);
  return shape == nullptr ? UINT64_MAX : bytes_of(count, *shape);
}

// Whether a call may block in MPI, because no work has to continue meanwhile.
inline bool waits_as_it_is() noexcept { return seems_running() && !must_poll(); }

inline bool posts_as_it_is(MPI_Count count, MPI_Datatype type) noexcept {
  const Shape *shape = known_shape(type);
  return seems_running() && shape != nullptr && !is_large(count, *shape) &&
         slot_of(bytes_of(count, *shape)) < 0;
}
inline bool sends_as_it_is(MPI_Count count, MPI_Datatype type) noexcept {
  return waits_as_it_is() && posts_as_it_is(count, type);
}
inline bool posts_receive_as_it_is(const void *buffer, MPI_Count count, MPI_Datatype type) noexcept {
  return seems_running() && buffer != nullptr && bytes_if_known(count, type) < shortest_token;
}
inline bool receives_as_it_is(const void *buffer, MPI_Count count, MPI_Datatype type) noexcept {
  return waits_as_it_is() && posts_receive_as_it_is(buffer, count, type);
}
inline bool completes_as_it_is(MPI_Request handle) noexcept {
  return waits_as_it_is() && request_count == 0 && !is_small(handle);
}
inline bool knows_no_request() noexcept { return seems_running() && !any_known(); }
inline bool waits_for_none() noexcept { return waits_as_it_is() && !any_known(); }

inline bool is_small(const void *buffer, MPI_Count count, MPI_Datatype type) noexcept {
  const Shape *shape = known_shape(type);
  return seems_running() && buffer != nullptr && shape != nullptr && !is_large(count, *shape);
}
inline bool receives_small(const void *buffer, MPI_Count count, MPI_Datatype type) noexcept {
  return waits_as_it_is() && is_small(buffer, count, type);
}
inline bool posts_small(const void *buffer, MPI_Count count, MPI_Datatype type, int source) noexcept {
  return is_small(buffer, count, type) && source != MPI_PROC_NULL && !shm.several_threads &&
         known_shape(type)->named;
}
inline bool completes_small(MPI_Request handle) noexcept { return waits_as_it_is() && is_small(handle); }

template <class Call> int post_small(const Target &target, MPI_Request *handle, Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS) note_small(*handle, target);
  return result;
}

// The place is free during the call, but nothing takes it: there is one thread, and MPI calls no code that
// would.
template <class Call> int wait_small(MPI_Request handle, MPI_Status *given, Call &&call) {
  SmallReceive &place = small_place(interpose::value_of(handle));
  place.handle = 0;
  known_count--;
  return complete_small(place.target, given, call);
}

// All other calls.

template <class Call> int allocate(MPI_Aint bytes, void *place, Call &&call) {
  constexpr MPI_Aint least = 4096;
  const Entry entry;
  if (!entry || bytes < least) return call();
  void *found = shm.node->arena().take(static_cast<std::size_t>(bytes), line);
  if (found == nullptr) return call();
  *static_cast<void **>(place) = found;
  return MPI_SUCCESS;
}

template <class Call> int deallocate(const void *place, Call &&call) {
  if (shm.node == nullptr || place == nullptr || !shm.node->arena().owns(place)) return call();
  shm.node->arena().give(const_cast<void *>(place));
  return MPI_SUCCESS;
}

template <class Call> int block(Call &&call) {
  if (!is_running() || !must_poll()) return call();
  const Entry entry;
  if (!entry) return call();
  const Away away;
  return call();
}

template <class Call> int free_type(Call &&call) {
  if (is_inside()) { // a callback of the program's, perhaps below our lock
    forget_types();
  } else {
    const Lock lock;
    forget_types();
  }
  return call();
}

template <class Call> int free_communicator(MPI_Comm *comm, Call &&call) {
  const Entry entry;
  if (entry) {
    const Lock lock;
    forget_communicator(*comm);
  }
  return call();
}

template <class Call> int initialize(Call &&call) {
  int result = MPI_SUCCESS;
  {
    const Outermost here;
    result = call();
  }
  if (result == MPI_SUCCESS && !is_inside() && interpose::library_fits()) initialise();
  return result;
}

template <class Call> int finalize(Call &&call) {
  if (!is_inside()) finalise();
  const Outermost here;
  return call();
}

} // namespace haloscope::shm
