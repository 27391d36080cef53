// The MPI library behind us: its functions and handles, looked up in the running process.
#pragma once

#include "interpose/interface.hpp"

#include <atomic>

namespace haloscope::interpose {

// Whether `next` is final. It is not while the process has no MPI: one may be loaded later.
extern std::atomic<bool> is_resolved;

// Fills `real`, `next` and, for Open MPI, `predefined`, with the functions that `caller`, an address in the
// program, gets without us. Without any MPI, `next` answers that MPI is not initialised, or ends the program.
[[gnu::noinline, gnu::cold]] void resolve(const void *caller) noexcept;

// The first definition behind all preloaded libraries of ours; null if there is none.
extern "C" [[gnu::visibility("default")]] void *haloscope_definition_beyond(const char *name) noexcept;

// The definition that `caller` gets without us; null if there is none.
[[nodiscard]] void *find_next(const char *name, const void *caller) noexcept;
// An object of the MPI library, also of one that was opened for its user alone.
[[nodiscard]] void *find_object(const char *name) noexcept;
// A function of this name in any loaded file but ours, also in one that was opened for its user alone.
[[nodiscard]] void *find_namesake(const char *name) noexcept;

// Whether the library that has this code has the function. Takes no memory and no lock.
[[nodiscard]] bool is_ours(const void *function) noexcept;

// Whether the library in the process, once it is resolved, has the interface that this is built for. If not,
// calls only pass on, and nothing of it may be touched.
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
