// Error handlers that throw, through the library and through our wrappers.
#define OMPI_SKIP_MPICXX 1 // its C++ interface, long gone from the standard, is full of warnings
#include "common.h"

#include <haloscope/region.hpp>

#include <stdexcept>

namespace {

// NOLINTNEXTLINE(modernize-avoid-variadic-functions): MPI's own type of error handlers
void raise(MPI_Comm * /*comm*/, int * /*code*/, ...) { throw std::runtime_error("from MPI"); }

void ring(int count) {
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  MPI_Sendrecv(buffer, count, MPI_INT, next, 0, other, count, MPI_INT, previous, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

template <class Call> void expect_throw(Call &&call) {
  bool thrown = false;
  try {
    const haloscope::Region region{"failing"};
    call();
  } catch (const std::runtime_error &) {
    thrown = true;
  }
  CHECK(thrown);
}

} // namespace

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(raise, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Request request;
  const haloscope::Region whole{"whole"};
  for (int i = 0; i < 3; i++) {
    ring(1);
    expect_throw([] { MPI_Send(buffer, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD); });
    expect_throw([&] { MPI_Isend(buffer, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD, &request); });
    expect_throw([] { MPI_Bcast(buffer, -1, MPI_INT, 0, MPI_COMM_WORLD); });
    expect_throw([] {
      MPI_Pcontrol(0);
      MPI_Recv(buffer, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    MPI_Pcontrol(1);
    // More than there is room for.
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): the one before is complete
    MPI_Isend(buffer, 2, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    expect_throw([] { MPI_Recv(other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ring(2);
  }
  {
    const haloscope::CommRegion region{"after"};
    ring(3);
  }
  MPI_Finalize();
  if (rank == 0) puts("end");
  return 0;
}
