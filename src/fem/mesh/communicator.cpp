#include "fem/mesh/communicator.hpp"

namespace haloscope::fem {

void agree(MPI_Comm communicator, const std::string &wrong) {
  int rank = 0, size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const int mine = wrong.empty() ? size : rank;
  int first = size;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == size) return;
  int length = static_cast<int>(wrong.size());
  MPI_Bcast(&length, 1, MPI_INT, first, communicator);
  std::string message = wrong;
  message.resize(static_cast<std::size_t>(length));
  MPI_Bcast(message.data(), length, MPI_CHAR, first, communicator);
  throw Error(message);
}

} // namespace haloscope::fem
