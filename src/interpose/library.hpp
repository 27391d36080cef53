// The MPI library behind us: its functions and handles, looked up in the running process.
#pragma once

#include "interpose/interface.hpp"

namespace haloscope::interpose {

// Fills `real`, `next` and, for Open MPI, `predefined`, once.
[[gnu::noinline, gnu::cold]] void resolve() noexcept;

// Whether the library in the process, once it is resolved, has the interface that this is built for. Where
// everything is watched it may be another: then nothing of it may be touched.
[[nodiscard]] bool library_fits() noexcept;
// The same of the library that this is PMPI_Init of; also true where there is none.
[[nodiscard]] bool library_fits(void *init) noexcept;

// Calls one of them. Libraries differ from the standard in a const or the depth of a pointer that the
// called function sees through; the bits are the same.
template <class Result, class... Parameters, class... Arguments>
Result forward(Result (*function)(Parameters...), Arguments... arguments) {
  return function((Parameters)arguments...);
}

} // namespace haloscope::interpose
