// A 7-point exchange of faces on a grid of ranks that does not wrap, its first axis fastest:
//     faces X Y Z ZONES TIMES     ZONES³ doubles per rank. Exits with 1 if a face is not the neighbour's.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank, size, dims[3], place[3], wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 6) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int axis = 0; axis < 3; axis++) dims[axis] = atoi(argv[axis + 1]);
  if (dims[0] * dims[1] * dims[2] != size) MPI_Abort(MPI_COMM_WORLD, 2);
  const int stride[] = {1, dims[0], dims[0] * dims[1]}, zones = atoi(argv[4]), count = zones * zones;
  for (int axis = 0; axis < 3; axis++) place[axis] = rank / stride[axis] % dims[axis];
  double *out = malloc(sizeof(double) * (size_t)count), *in = malloc(6 * sizeof(double) * (size_t)count);
  for (int i = 0; i < count; i++) out[i] = rank;
  for (int time = 0; time < atoi(argv[5]); time++) {
    MPI_Request requests[12];
    int neighbours[6], messages = 0;
    for (int side = 0; side < 6; side++) {
      const int axis = side / 2, step = side % 2 == 0 ? -1 : 1, to = place[axis] + step;
      neighbours[side] = to < 0 || to >= dims[axis] ? MPI_PROC_NULL : rank + step * stride[axis];
      MPI_Irecv(in + side * count, count, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD,
                &requests[messages++]);
      MPI_Isend(out, count, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, &requests[messages++]);
    }
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < 6; side++)
      wrong += neighbours[side] != MPI_PROC_NULL && in[side * count + count / 2] != neighbours[side];
  }
  free(out);
  free(in);
  MPI_Finalize();
  return wrong != 0;
}
