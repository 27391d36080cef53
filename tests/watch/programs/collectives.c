// Every collective, blocking, non-blocking and (if MPI has them) persistent, with the last rank as the
// root. Arguments that are insignificant at other ranks are garbage there: the recorder must not read them.
#include "common.h"

#define NO_TYPE MPI_DATATYPE_NULL
enum { most = 16 };
static int one_more[most], all_counts[most], all_twos[most], offsets[most], byte_offsets[most];
static MPI_Datatype types[most];
static int root;

static void prepare(void) {
  root = size - 1;
  for (int i = 0; i < size; i++) {
    one_more[i] = i + 1;
    all_twos[i] = 2;
    all_counts[i] = rank + i + 1;
    offsets[i] = 64 * i;
    byte_offsets[i] = 256 * i;
    types[i] = (rank + i) % 2 ? MPI_DOUBLE : MPI_INT;
  }
}

#define AT_ROOT(here, elsewhere) (rank == root ? (here) : (elsewhere))
#define ONLY_ROOT(type) AT_ROOT(type, MPI_DATATYPE_NULL)

// name, name without capital, arguments before the communicator
#define COLLECTIVES(_)                                                                                       \
  _(Bcast, bcast, buffer, 10, MPI_INT, root)                                                                 \
  _(Reduce, reduce, buffer, AT_ROOT(other, NULL), 11, MPI_INT, MPI_SUM, root)                                \
  _(Allreduce, allreduce, buffer, other, 12, MPI_INT, MPI_SUM)                                               \
  _(Scan, scan, buffer, other, 13, MPI_INT, MPI_SUM)                                                         \
  _(Exscan, exscan, buffer, other, 14, MPI_INT, MPI_SUM)                                                     \
  _(Reduce_scatter, reduce_scatter, buffer, other, one_more, MPI_INT, MPI_SUM)                               \
  _(Reduce_scatter_block, reduce_scatter_block, buffer, other, 5, MPI_INT, MPI_SUM)                          \
  _(Gather, gather, buffer, 6, MPI_INT, AT_ROOT(other, NULL), AT_ROOT(6, -7), ONLY_ROOT(MPI_INT), root)      \
  _(Gatherv, gatherv, buffer, rank + 1, MPI_INT, AT_ROOT(other, NULL), AT_ROOT(one_more, NULL),              \
    AT_ROOT(offsets, NULL), ONLY_ROOT(MPI_INT), root)                                                        \
  _(Allgather, allgather, buffer, 7, MPI_INT, other, 7, MPI_INT)                                             \
  _(Allgatherv, allgatherv, buffer, rank + 1, MPI_INT, other, one_more, offsets, MPI_INT)                    \
  _(Scatter, scatter, AT_ROOT(buffer, NULL), AT_ROOT(8, -7), ONLY_ROOT(MPI_INT), other, 8, MPI_INT, root)    \
  _(Scatterv, scatterv, AT_ROOT(buffer, NULL), AT_ROOT(one_more, NULL), AT_ROOT(offsets, NULL),              \
    ONLY_ROOT(MPI_INT), other, rank + 1, MPI_INT, root)                                                      \
  _(Alltoall, alltoall, buffer, 3, MPI_INT, other, 3, MPI_INT)                                               \
  _(Alltoallv, alltoallv, buffer, all_counts, offsets, MPI_INT, other, all_counts, offsets, MPI_INT)         \
  _(Alltoallw, alltoallw, buffer, all_counts, byte_offsets, types, other, all_counts, byte_offsets, types)

#define BLOCKING(name, lower, ...) REGION(#name) MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);

#define PENDING(name, lower, ...)                                                                            \
  REGION("I" #lower) {                                                                                       \
    MPI_Request request;                                                                                     \
    MPI_I##lower(__VA_ARGS__, MPI_COMM_WORLD, &request);                                                     \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                   \
  }

static void barriers(void) {
  MPI_Request request;
  int flag = 0;
  REGION("Barrier") MPI_Barrier(MPI_COMM_WORLD);
  REGION("Ibarrier") {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
}

#if (MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)) && !defined(SIMULATED)
#define PERSISTENT(name, lower, ...)                                                                         \
  REGION(#name "_init") {                                                                                    \
    MPI_Request request;                                                                                     \
    MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request);                                 \
    for (int i = 0; i < 2; i++) {                                                                            \
      MPI_Start(&request);                                                                                   \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                 \
    }                                                                                                        \
    MPI_Request_free(&request);                                                                              \
  }
static void persistent(void) { COLLECTIVES(PERSISTENT) }
#else
static void persistent(void) {}
#endif

static void in_place(void) {
  void *place = MPI_IN_PLACE;
  REGION("in place Reduce")
  MPI_Reduce(AT_ROOT(place, buffer), AT_ROOT(other, NULL), 11, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  REGION("in place Allreduce")
  MPI_Allreduce(place, other, 12, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REGION("in place Scan") MPI_Scan(place, other, 13, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REGION("in place Exscan") MPI_Exscan(place, other, 14, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REGION("in place Reduce_scatter")
  MPI_Reduce_scatter(place, other, one_more, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REGION("in place Reduce_scatter_block")
  MPI_Reduce_scatter_block(place, other, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REGION("in place Gather")
  MPI_Gather(AT_ROOT(place, buffer), AT_ROOT(-7, 6), AT_ROOT(NO_TYPE, MPI_INT), AT_ROOT(other, NULL), 6,
             ONLY_ROOT(MPI_INT), root, MPI_COMM_WORLD);
  REGION("in place Gatherv")
  MPI_Gatherv(AT_ROOT(place, buffer), AT_ROOT(-7, rank + 1), AT_ROOT(NO_TYPE, MPI_INT), AT_ROOT(other, NULL),
              AT_ROOT(one_more, NULL), AT_ROOT(offsets, NULL), ONLY_ROOT(MPI_INT), root, MPI_COMM_WORLD);
  REGION("in place Allgather")
  MPI_Allgather(place, -7, NO_TYPE, other, 7, MPI_INT, MPI_COMM_WORLD);
  REGION("in place Allgatherv")
  MPI_Allgatherv(place, -7, NO_TYPE, other, one_more, offsets, MPI_INT, MPI_COMM_WORLD);
  REGION("in place Scatter")
  MPI_Scatter(AT_ROOT(buffer, NULL), AT_ROOT(8, -7), ONLY_ROOT(MPI_INT), AT_ROOT(place, other), 8, MPI_INT,
              root, MPI_COMM_WORLD);
  REGION("in place Alltoall")
  MPI_Alltoall(place, -7, NO_TYPE, other, 3, MPI_INT, MPI_COMM_WORLD);
  REGION("in place Alltoallv")
  MPI_Alltoallv(place, NULL, NULL, NO_TYPE, other, all_counts, offsets, MPI_INT, MPI_COMM_WORLD);
  REGION("in place Alltoallw")
  MPI_Alltoallw(place, NULL, NULL, NULL, other, all_counts, byte_offsets, types, MPI_COMM_WORLD);
}

#if !defined(SIMULATED)
// The two sides may have another number of ranks each: arrays are as long as the other side's.
static void between_groups_by_counts(MPI_Comm pair, int from_even) {
  int mine, theirs, here;
  MPI_Comm_size(pair, &mine);
  MPI_Comm_remote_size(pair, &theirs);
  MPI_Comm_rank(pair, &here);
  REGION("inter Gatherv")
  MPI_Gatherv(buffer, here + 1, MPI_INT, other, one_more, offsets, MPI_INT, from_even, pair);
  REGION("inter Scatterv")
  MPI_Scatterv(buffer, one_more, offsets, MPI_INT, other, here + 1, MPI_INT, from_even, pair);
  REGION("inter Allgatherv")
  MPI_Allgatherv(buffer, here + 1, MPI_INT, other, one_more, offsets, MPI_INT, pair);
  REGION("inter Alltoallv")
  MPI_Alltoallv(buffer, all_twos, offsets, MPI_INT, other, all_twos, offsets, MPI_INT, pair);
  // The same number of elements on both sides.
  REGION("inter Reduce_scatter_block")
  MPI_Reduce_scatter_block(buffer, other, theirs, MPI_INT, MPI_SUM, pair);
}

// Even ranks on one side, odd ones on the other; rank 0 is the root.
static void between_groups(void) {
  MPI_Comm half, pair;
  int side = rank % 2;
  int from_even = side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 0, &pair);
  REGION("inter Bcast") MPI_Bcast(buffer, 10, MPI_INT, from_even, pair);
  REGION("inter Reduce") MPI_Reduce(buffer, other, 11, MPI_INT, MPI_SUM, from_even, pair);
  REGION("inter Allreduce") MPI_Allreduce(buffer, other, 12, MPI_INT, MPI_SUM, pair);
  REGION("inter Gather") MPI_Gather(buffer, 6, MPI_INT, other, 6, MPI_INT, from_even, pair);
  REGION("inter Scatter") MPI_Scatter(buffer, 8, MPI_INT, other, 8, MPI_INT, from_even, pair);
  REGION("inter Alltoall") MPI_Alltoall(buffer, 3, MPI_INT, other, 3, MPI_INT, pair);
  between_groups_by_counts(pair, from_even);
  MPI_Comm_free(&pair), MPI_Comm_free(&half);
}

// A ring: two neighbours each, the same one twice where there are two ranks.
static void neighbors(void) {
  MPI_Comm ring;
  MPI_Request request;
  int periodic = 1, counts[2] = {1, 2}, places[2] = {0, 64};
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  REGION("Neighbor_allgather") MPI_Neighbor_allgather(buffer, 4, MPI_INT, other, 4, MPI_INT, ring);
  REGION("Neighbor_alltoall") MPI_Neighbor_alltoall(buffer, 5, MPI_INT, other, 5, MPI_INT, ring);
  REGION("Ineighbor_alltoall") {
    MPI_Ineighbor_alltoall(buffer, 5, MPI_INT, other, 5, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  counts[0] = 2, counts[1] = 2;
  REGION("Neighbor_alltoallv")
  MPI_Neighbor_alltoallv(buffer, counts, places, MPI_INT, other, counts, places, MPI_INT, ring);
  MPI_Comm_free(&ring);
}
#endif

int main(int argc, char **argv) {
  start(&argc, &argv);
  prepare();
  barriers();
  COLLECTIVES(BLOCKING)
  COLLECTIVES(PENDING)
  persistent();
  in_place();
#if !defined(SIMULATED)
  between_groups();
  neighbors();
#endif
  MPI_Finalize();
  return 0;
}
