/* Possible gain of small messages by rings in shared memory. `rings ROUNDS BYTES...` prints "BYTES WAY
 * SECONDS" for half a ping-pong, medians of alternating blocks. The ways are MPI; a ring of one slot without
 * matching; and such a ring with an MPI message as token for matching, as in the shm library. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { blocks = 25, most = 1 << 16, token = 67 };
typedef struct {
  _Alignas(64) _Atomic unsigned long full;
  _Alignas(64) char data[most];
} Ring;

static int rank, bytes;
static Ring *ring[2]; /* written by this rank, and by the other rank */
static unsigned long sent, got;
static char out[most], in[most], note[token];

static void put(void) {
  memcpy(ring[0]->data, out, (size_t)bytes);
  atomic_store_explicit(&ring[0]->full, ++sent, memory_order_release);
}

static void get(void) {
  ++got;
  while (atomic_load_explicit(&ring[1]->full, memory_order_acquire) != got);
  memcpy(in, ring[1]->data, (size_t)bytes);
}

static void by_mpi(int sends) {
  if (sends)
    MPI_Send(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void by_ring(int sends) { (sends ? put : get)(); }

static void by_token(int sends) {
  if (sends) {
    put();
    MPI_Send(note, token, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(note, token, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    get();
  }
}

static void (*const ways[])(int) = {by_mpi, by_ring, by_token};
static const char *const names[] = {"mpi", "ring", "token"};

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  MPI_Win window;
  MPI_Aint size;
  int unit;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate_shared(sizeof(Ring), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &ring[0], &window);
  memset(ring[0], 0, sizeof(Ring));
  MPI_Win_shared_query(window, 1 - rank, &size, &unit, &ring[1]);
  const int rounds = atoi(argv[1]);
  for (int i = 2; i < argc; ++i) {
    double times[3][blocks];
    bytes = atoi(argv[i]);
    for (int block = 0; block < blocks; ++block)
      for (int way = 0; way < 3; ++way) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        for (int round = 0; round < rounds; ++round) ways[way](rank == 0), ways[way](rank == 1);
        times[way][block] = (MPI_Wtime() - begin) / (2 * rounds);
      }
    for (int way = 0; way < 3; ++way) {
      qsort(times[way], blocks, sizeof(double), ascending);
      if (rank == 0) printf("%d %s %.10f\n", bytes, names[way], times[way][blocks / 2]);
    }
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
