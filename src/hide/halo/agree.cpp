#include "hide/halo/agree.hpp"

namespace haloscope::stencil {

void agree(MPI_Comm comm, const std::string &mine) {
  int rank = 0, size = 0, first = 0;
  check(MPI_Comm_rank(comm, &rank));
  check(MPI_Comm_size(comm, &size));
  const int speaks = mine.empty() ? size : rank;
  check(MPI_Allreduce(&speaks, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == size) return;
  int length = static_cast<int>(mine.size());
  check(MPI_Bcast(&length, 1, MPI_INT, first, comm));
  std::string text = mine;
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, first, comm));
  throw Refused{"halo: rank " + std::to_string(first) + ": " + text};
}

} // namespace haloscope::stencil
