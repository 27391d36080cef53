/* Calls the functions that real MPI libraries and SimGrid's have in common. The counts are the same in each
 * run. */
#include <mpi.h>

enum { most = 16 };
static int rank, size, left, right;
static int out[most], in[most], counts[most], places[most];
static MPI_Datatype types[most];
static MPI_Comm world;

static void messages(void) {
  MPI_Request requests[2];
  MPI_Status status;
  static char room[4096];
  MPI_Buffer_attach(room, sizeof room);
#define GOES(Send)                                                                                           \
  MPI_Irecv(in, 4, MPI_INT, left, 1, world, requests);                                                       \
  MPI_Barrier(world);                                                                                        \
  Send(out, 2, MPI_INT, right, 1, world);                                                                    \
  MPI_Wait(requests, &status)
#define POSTED(Isend, wait)                                                                                  \
  MPI_Irecv(in, 4, MPI_INT, left, 1, world, requests);                                                       \
  MPI_Barrier(world);                                                                                        \
  Isend(out, 3, MPI_INT, right, 1, world, requests + 1);                                                     \
  wait
  int place, done, places_done[2];
  GOES(MPI_Send);
  GOES(MPI_Ssend);
  GOES(MPI_Bsend);
  GOES(MPI_Rsend);
  POSTED(MPI_Isend, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  POSTED(MPI_Issend, MPI_Waitany(2, requests, &place, &status); MPI_Waitany(2, requests, &place, &status));
  POSTED(MPI_Irsend, for (int sum = 0; sum < 2; sum += done)
                         MPI_Waitsome(2, requests, &done, places_done, MPI_STATUSES_IGNORE));
  POSTED(MPI_Ibsend, for (int sum = 0; sum < 2; sum += done)
                         MPI_Testsome(2, requests, &done, places_done, MPI_STATUSES_IGNORE));
  POSTED(MPI_Isend, for (done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
  POSTED(MPI_Isend, for (int sum = 0; sum < 2; sum += done) MPI_Testany(2, requests, &place, &done, &status));
  MPI_Sendrecv(out, 1, MPI_INT, right, 2, in, 1, MPI_INT, left, 2, world, &status);
  MPI_Sendrecv_replace(out, 1, MPI_INT, right, 2, left, 2, world, &status);
  MPI_Isend(out, 1, MPI_INT, right, 3, world, requests);
  MPI_Probe(left, 3, world, &status);
  MPI_Get_count(&status, MPI_INT, &done);
  MPI_Recv(in, done, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  MPI_Send_init(out, 2, MPI_INT, right, 4, world, requests);
  MPI_Recv_init(in, 2, MPI_INT, left, 4, world, requests + 1);
  for (int i = 0; i < 2; i++) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(requests);
  MPI_Request_free(requests + 1);
  int taken;
  void *buffer;
  MPI_Buffer_detach(&buffer, &taken);
}

static void collectives(MPI_Comm comm) {
  MPI_Bcast(out, 2, MPI_INT, 0, comm);
  MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, 0, comm);
  MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm);
  MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, comm);
  MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, comm);
  MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
  MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, comm);
  MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  MPI_Gatherv(out, 1, MPI_INT, in, counts, places, MPI_INT, 0, comm);
  MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  MPI_Allgatherv(out, 1, MPI_INT, in, counts, places, MPI_INT, comm);
  MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
  MPI_Scatterv(out, counts, places, MPI_INT, in, 1, MPI_INT, 0, comm);
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
  for (int i = 0; i < most; i++) places[i] *= (int)sizeof(int);
  MPI_Alltoallw(out, counts, places, types, in, counts, places, types, comm);
  for (int i = 0; i < most; i++) places[i] /= (int)sizeof(int);
  MPI_Request request;
  MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ibarrier(comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one_sided(void) {
  MPI_Win win;
  MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, world, &win);
  MPI_Win_fence(0, win);
  MPI_Put(out, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Get(out, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(out, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (int i = 0; i < most; i++) out[i] = i, counts[i] = 1, places[i] = i, types[i] = MPI_INT;
  messages();
  collectives(world);
  MPI_Comm half, copy;
  MPI_Comm_split(world, rank % 2, rank, &half);
  MPI_Comm_dup(world, &copy);
  collectives(half);
  one_sided();
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
