// Markers as C++ scopes; exceptions leave them.
#define OMPI_SKIP_MPICXX 1 // its C++ interface, long gone from the standard, is full of warnings
#include <haloscope/region.hpp>
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace {

void send(int count) {
  static int out[100], in[100];
  MPI_Sendrecv(out, count, MPI_INT, 0, 0, in, count, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

void fail() {
  const haloscope::CommRegion region{"failing"};
  send(2);
  throw std::runtime_error("on purpose");
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  try {
    const haloscope::Region outer{"outer"};
    const haloscope::Region inner{std::string{"in"} + "ner"};
    send(1);
    fail();
  } catch (const std::runtime_error &) {
    const haloscope::Region handler{"handler"};
    send(3);
  }
  MPI_Finalize();
}
