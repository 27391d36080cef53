// Functions for the generated wrappers that do more than a substitution; meanings.py names them. A call gets
// the communicator for MPI's function in place of the program's.
#pragma once

#include "hide/place/placement.hpp"

#include <algorithm>
#include <iterator>

namespace haloscope::place {

template <class Call> int as_it_is(Call &&call) { return call(); }

template <class Call> int initialise(Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS && interpose::library_fits()) begin_world();
  return result;
}

// Predefined attributes of a library exist only on its own MPI_COMM_WORLD.
template <class Call> int get_attribute(MPI_Comm comm, int keyval, Call &&call) {
  static constexpr int predefined[] = {MPI_TAG_UB,        MPI_HOST,   MPI_IO,          MPI_WTIME_IS_GLOBAL,
                                       MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE};
  const bool is_predefined = std::ranges::find(predefined, keyval) != std::end(predefined);
  return call(is_predefined ? comm : actual(comm));
}

// Errors that belong to no communicator go to the handler of the library's own.
template <class Call> int set_error_handler(MPI_Comm comm, Call &&call) {
  const int result = call(actual(comm));
  return actual(comm) == comm || result != MPI_SUCCESS ? result : call(comm);
}

} // namespace haloscope::place
