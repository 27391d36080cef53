// Receives into buffers of the library: lent ROUNDS BYTES KEPT. KEPT buffers are never given back.
#include <haloscope/shm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
  fprintf(stderr, "lent: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = atoi(argv[1]), bytes = atoi(argv[2]), kept = atoi(argv[3]);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  unsigned char *data[2];
  for (int k = 0; k < 2; ++k) MPI_Alloc_mem(bytes, MPI_INFO_NULL, &data[k]);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request request[4];
    MPI_Status status[4];
    for (int k = 0; k < 2; ++k) {
      memset(data[k], rank + 3 * round + k, (size_t)bytes);
      MPI_Irecv(NULL, bytes, MPI_BYTE, left, 7, MPI_COMM_WORLD, &request[k]);
    }
    // Two messages of the same source and tag, of which the second is shorter.
    for (int k = 0; k < 2; ++k)
      MPI_Isend(data[k], bytes / (k + 1), MPI_BYTE, right, 7, MPI_COMM_WORLD, &request[2 + k]);
    MPI_Waitall(4, request, status);
    for (int k = 1; k >= 0; --k) { // in another order than they came
      unsigned char *halo;
      int count;
      MPI_Get_count(&status[k], MPI_BYTE, &count);
      if (count != bytes / (k + 1)) fail("a wrong size");
      if (MPIX_Get_recv_buf(status[k], (void **)&halo) != MPI_SUCCESS) fail("no buffer");
      for (int i = 0; i < count; ++i)
        if (halo[i] != (unsigned char)(left + 3 * round + k)) fail("wrong bytes");
      if (round < kept && k == 0) continue;
      if (MPIX_Release_recv_buf(status[k], halo) != MPI_SUCCESS) fail("not released");
      if (round == 0 && k == 1 && MPIX_Release_recv_buf(status[k], halo) == MPI_SUCCESS)
        fail("released twice");
    }
  }
  for (int k = 0; k < 2; ++k) MPI_Free_mem(data[k]);
  MPI_Finalize();
  printf("right\n");
  return 0;
}
