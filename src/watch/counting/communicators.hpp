// From a communicator's handle to its record, and from its ranks to world ranks.
#pragma once

#include "interpose/interface.hpp"
#include "watch/counting/recording.hpp"

#include <array>
#include <vector>

namespace haloscope::watch {

using interpose::next;
using interpose::real;
using interpose::value_of;

struct ThreadState;

// The neighbours of this rank in a communicator's topology, as its ranks; MPI_PROC_NULL if there is none.
// They live as long as the communicator.
struct Neighbors {
  std::vector<int> sources, destinations;
};

// A thread's memory of a handle.
struct CachedUse {
  MPI_Comm handle;
  CommunicatorUse *use;
  const Neighbors *neighbors; // nullptr: it has no topology
};

[[gnu::noinline]] CommunicatorUse *look_up_communicator(ThreadState &state, MPI_Comm comm) noexcept;

// Whether the handle is one of MPI's own, or the recorder has seen how it was created. Any other value may be
// invalid.
[[gnu::noinline]] bool is_known_communicator(MPI_Comm comm) noexcept;

// Whether all its ranks are of this world.
bool is_inside_world(MPI_Comm comm) noexcept;

// The ranks that call a constructor: all ranks of the parent, some of them, or those of two groups.
enum class MadeBy : std::uint8_t { all, some, two_groups };
// A communicator made from `parent`, which it is named after unless the program names it itself; `made` is
// none for ranks that are not in it.
void adopt_communicator(MPI_Comm parent, MPI_Comm made, const char *how, MadeBy by) noexcept;
void rename_communicator(MPI_Comm comm, const char *name) noexcept;
// Called before the handle is freed: MPI may reuse it at once.
void forget_communicator(MPI_Comm comm) noexcept;
// Sets the group whose ranks are world ranks. Called at MPI_Init, and when sessions begin and end.
void start_communicators(MPI_Group world) noexcept;
// From now on, communicators may belong to a session. Their groups are not kept.
void expect_sessions() noexcept;

} // namespace haloscope::watch
