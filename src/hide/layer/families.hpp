// What the generated wrappers of each family of functions do; generate.py names them.
#pragma once

#include "hide/layer/completions.hpp"
#include "hide/layer/exchanges.hpp"
#include "hide/layer/peeks.hpp"
#include "hide/layer/short.hpp"

namespace haloscope::stencil::layer {

template <class Call> int allocate(MPI_Aint bytes, void *place, Call &&call) {
  constexpr MPI_Aint least = 4096;
  const Entry entry;
  if (!entry || bytes < least) return call();
  void *found = layer.node->arena().take(static_cast<std::size_t>(bytes), line);
  if (found == nullptr) return call();
  *static_cast<void **>(place) = found;
  return MPI_SUCCESS;
}

template <class Call> int deallocate(const void *place, Call &&call) {
  if (layer.node == nullptr || place == nullptr || !layer.node->arena().owns(place)) return call();
  layer.node->arena().give(const_cast<void *>(place));
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
  if (inside) { // a callback of the program's, perhaps below our lock
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
    const bool before = inside;
    inside = true;
    result = call();
    inside = before;
  }
  if (result == MPI_SUCCESS && !inside) initialise();
  return result;
}

template <class Call> int finalize(Call &&call) {
  if (!inside) finalise();
  const bool before = inside;
  inside = true;
  const int result = call();
  inside = before;
  return result;
}

} // namespace haloscope::stencil::layer
