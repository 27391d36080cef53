// The first message of a size, whose chunks show how many ranks would copy, and the following ones.
// Rank 0 sends to rank 1, and both wait in MPI. Prints "BYTES FIRST MEAN": seconds of the receiver.
//
//   first COUNT BYTES…
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

double message(int rank, char *data, int bytes, int turn) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::memset(data, turn, static_cast<size_t>(bytes));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == 0)
    MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Wtime() - begin;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int count = static_cast<int>(std::strtol(argv[1], nullptr, 10));
  for (int i = 2; i < argc; i++) {
    const int bytes = static_cast<int>(std::strtol(argv[i], nullptr, 10));
    char *data = nullptr;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, static_cast<void *>(&data));
    std::memset(data, 1, static_cast<size_t>(bytes));
    const double first = message(rank, data, bytes, 0);
    double sum = 0;
    for (int turn = 1; turn <= count; turn++) sum += message(rank, data, bytes, turn);
    if (rank == 1) std::printf("%d %.9f %.9f\n", bytes, first, sum / count);
    MPI_Free_mem(data);
  }
  MPI_Finalize();
  return 0;
}
