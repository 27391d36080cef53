// Collectives that ranks come to in different orders: `skew late CALLS` or `skew mixed`.
#include "common.h"

#include <pthread.h>

static void late(int calls) {
  for (int i = 0; i < calls; i++)
    REGION("late") MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void sum(MPI_Comm comm, int times) {
  for (int i = 0; i < times; i++) {
    int one = 1, all = 0, members;
    MPI_Comm_size(comm, &members);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    CHECK(all == members);
  }
}

// Ranks call different numbers of collectives on the parts that they are in, between those of all.
static void in_parts(void) {
  MPI_Comm all, part, twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
  for (int i = 0; i < 7; i++) {
    sum(part, rank % 2 ? 1 : 4);
    sum(all, 1);
    MPI_Comm_dup(all, &twin); // counts for itself
    sum(twin, i);
    sum(all, 1);
    MPI_Comm_free(&twin);
    sum(MPI_COMM_SELF, rank);
  }
  MPI_Comm_free(&part);
  MPI_Comm_free(&all);
}

static void between_groups(void) {
  MPI_Comm part, bridge;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &bridge);
  for (int i = 0; i < 7; i++) {
    int mine = rank % 2, theirs = 0, root = rank == 0 ? MPI_ROOT : rank % 2 ? 0 : MPI_PROC_NULL;
    MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_MAX, bridge);
    CHECK(theirs == 1 - mine);
    MPI_Bcast(&mine, 1, MPI_INT, root, bridge);
    CHECK(mine == 0);
    sum(part, rank % 2);
    MPI_Barrier(bridge);
  }
  MPI_Comm_free(&bridge);
  MPI_Comm_free(&part);
}

static void with_neighbors(void) {
  int periodic = 1, near[2];
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  for (int i = 0; i < 7; i++) {
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, near, 1, MPI_INT, ring);
    CHECK(near[0] == (rank + size - 1) % size && near[1] == (rank + 1) % size);
  }
  MPI_Comm_free(&ring);
}

static void failing(void) {
  MPI_Comm none = MPI_COMM_NULL;
  int error, class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int i = 0; i < 5; i++) {
    error = MPI_Barrier(none);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_COMM);
    error = MPI_Bcast(buffer, -1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_COUNT);
    sum(MPI_COMM_WORLD, 1);
  }
}

static void *work(void *comm) {
  sum(*(MPI_Comm *)comm, 100);
  return NULL;
}

static void with_threads(void) {
  enum { threads = 3 };
  MPI_Comm comms[threads];
  pthread_t ids[threads];
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, work, &comms[i]);
  sum(MPI_COMM_WORLD, 30);
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) {
    late(atoi(argv[2]));
  } else {
    REGION("parts") in_parts();
    REGION("groups") between_groups();
    REGION("neighbors") with_neighbors();
    REGION("failing") failing();
    with_threads();
  }
  MPI_Finalize();
  return 0;
}
