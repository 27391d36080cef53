// The kind of memory of a call's buffer. Wrappers ask for it if a GPU's runtime is in the process.
#pragma once

#include "interpose/interface.hpp" // what is used for Open MPI's predefined handles
#include "watch/gpu/device_memory.hpp"

namespace haloscope::watch {

// The direction in which a call uses its buffer.
enum class BufferUse : std::uint8_t { reads, writes };

// `other` is meant where `buffer` is MPI_IN_PLACE, or where neither it nor its datatype is an address.
[[gnu::noinline, gnu::cold]] Memory ask_memory(BufferUse use, const void *buffer, MPI_Datatype datatype,
                                               const void *other, MPI_Datatype other_type) noexcept;

// The first datatype of a function with a datatype per part.
template <class Counts, class Datatypes>
MPI_Datatype first_type(const void *buffer, Counts counts, Datatypes datatypes) noexcept {
  const bool is_there = buffer != MPI_IN_PLACE && counts != nullptr && counts[0] > 0;
  return is_there ? datatypes[0] : MPI_DATATYPE_NULL;
}
// nullptr where the buffer means nothing.
[[gnu::noinline, gnu::cold]] const void *sent_by_root(const void *buffer, int root, MPI_Comm comm) noexcept;

} // namespace haloscope::watch
