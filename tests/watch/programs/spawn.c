// Two processes spawn two more; each parent sends to each child, and the children talk among themselves.
#include "common.h"

int main(int argc, char **argv) {
  MPI_Comm parent, others, together;
  start(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    REGION("down") for (int child = 0; child < 2; child++) MPI_Send(buffer, 10, MPI_INT, child, 0, others);
  } else {
    others = parent;
    REGION("down")
    for (int above = 0; above < 2; above++)
      MPI_Recv(other, 10, MPI_INT, MPI_ANY_SOURCE, 0, others, MPI_STATUS_IGNORE);
    REGION("among")
    MPI_Sendrecv(buffer, 5, MPI_INT, 1 - rank, 1, other, 5, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  MPI_Intercomm_merge(others, parent != MPI_COMM_NULL, &together);
  // The first of the parents to its own world's other rank, by the name that it has here.
  REGION("merged") if (parent == MPI_COMM_NULL) {
    if (rank == 0) MPI_Send(buffer, 3, MPI_INT, 1, 2, together);
    if (rank == 1) MPI_Recv(other, 3, MPI_INT, 0, 2, together, MPI_STATUS_IGNORE);
  }
  REGION("all") MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, together);
  MPI_Comm_free(&together);
  MPI_Comm_disconnect(&others);
  MPI_Finalize();
  return 0;
}
