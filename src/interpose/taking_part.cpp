#include "interpose/taking_part.hpp"

#include "interpose/library.hpp"
#include "interpose/moment.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace haloscope::interpose {

namespace {

constexpr Moment patience = 15 * second; // MPI_Init keeps ranks together already

// A barrier that is complete on no rank before all have come. One that is given up stays with MPI.
bool meet() noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  if (real.Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  const Moment begin = monotonic_time();
  for (;;) {
    int done = 0;
    if (real.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    const Moment waited = monotonic_time() - begin;
    if (waited > patience) return false;
    if (waited < second / 5000)
      sched_yield(); // the others may need this core
    else
      usleep(static_cast<useconds_t>(std::min<Moment>(waited / 8000, 5000)));
  }
}

} // namespace

bool do_all_ranks_take_part(const char *what) noexcept {
  int rank = 0, size = 0;
  real.Comm_size(MPI_COMM_WORLD, &size);
  // Twice: a rank that came just after the others had given up must not go on alone.
  if (size == 1 || (meet() && meet())) return true;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    if (rank == 0 || rank == size - 1)
      complain("not all ranks have Haloscope's library, so " + std::string{what} +
               "; copy it to all nodes: set HALOSCOPE_CACHE to a directory that all nodes share");
  } catch (...) { // NOLINT(bugprone-empty-catch): no memory to say it
  }
  return false;
}

} // namespace haloscope::interpose
