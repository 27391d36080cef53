/* The example of halo.h, in C: each rank adds up what its neighbours on a ring sent. */
#include <haloscope/halo.h>

#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, periodic = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  const size_t bytes[2] = {sizeof(int), sizeof(int)};
  haloscope_halo *halo;
  if (haloscope_halo_create(ring, bytes, bytes, NULL, &halo) != MPI_SUCCESS) puts(haloscope_halo_error());
  int sum = 0;
  for (int exchange = 1; exchange <= 10; exchange++) {
    for (int i = 0; i < 2; i++) *(int *)haloscope_halo_send_buffer(halo, i) = exchange * (rank + 1) * (i + 1);
    haloscope_halo_start(halo);
    haloscope_halo_finish(halo);
    for (int i = 0; i < 2; i++) sum += *(const int *)haloscope_halo_receive_buffer(halo, i);
  }
  /* The lower neighbour's upward message has twice its number. */
  const int below = (rank + ranks - 1) % ranks + 1, above = (rank + 1) % ranks + 1;
  const int wrong = sum != 55 * (2 * below + above);
  haloscope_halo_free(halo);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return wrong;
}
