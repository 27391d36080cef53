// Four messages of four sizes, posted and completed in all orders, which their sender gets.
#include "common.h"

enum { kinds = 4 };

static int permuted(int number, int *order) {
  int left[kinds];
  for (int i = 0; i < kinds; i++) left[i] = i;
  for (int i = 0; i < kinds; i++) {
    const int at = number % (kinds - i);
    number /= kinds - i;
    order[i] = left[at];
    left[at] = left[kinds - i - 1];
  }
  return number == 0;
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  int posted[kinds], wanted[kinds], which;
  for (int i = 0; permuted(i % 24, posted) && i < 24 * 24; i++) {
    permuted(i / 24, wanted);
    if (rank == 1) {
      for (int k = 0; k < kinds; k++) {
        MPI_Recv(&which, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, which + 1, MPI_INT, 0, which, MPI_COMM_WORLD);
      }
      continue;
    }
    MPI_Request requests[kinds];
    for (int k = 0; k < kinds; k++)
      MPI_Irecv(other + 8 * k, posted[k] + 1, MPI_INT, 1, posted[k], MPI_COMM_WORLD, &requests[k]);
    for (int k = 0; k < kinds; k++) {
      MPI_Send(&wanted[k], 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
      MPI_Waitany(kinds, requests, &which, MPI_STATUS_IGNORE);
      CHECK(posted[which] == wanted[k]);
    }
  }
  MPI_Finalize();
  return 0;
}
