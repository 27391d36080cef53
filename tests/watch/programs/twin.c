// The C half of a pair: twin.f90 makes the same calls in the same regions, so that their profiles must be
// equal. Compared values do not depend on time: only MPI_Test* and MPI_Iprobe are called in loops.
#include "common.h"

#define WORLD MPI_COMM_WORLD
static int up, down;
static MPI_Status status, statuses[4];
static MPI_Request requests[4];

static int count_of(const MPI_Status *from) {
  int count;
  MPI_Get_count(from, MPI_INT, &count);
  return count;
}

// Two receives and two sends in requests[0] to [3], with both neighbours.
static void post(int count) {
  MPI_Irecv(other, 100, MPI_INT, down, 1, WORLD, &requests[0]);
  MPI_Irecv(other + 100, 100, MPI_INT, up, 2, WORLD, &requests[1]);
  MPI_Isend(buffer, count + rank, MPI_INT, up, 1, WORLD, &requests[2]);
  MPI_Isend(buffer, 2 * count, MPI_INT, down, 2, WORLD, &requests[3]);
}

static void pending(void) {
  REGION("Waitall") {
    post(10);
    MPI_Waitall(4, requests, statuses);
    CHECK(statuses[0].MPI_SOURCE == down && statuses[1].MPI_TAG == 2);
    CHECK(count_of(&statuses[0]) == 10 + down && count_of(&statuses[1]) == 20);
    post(11);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  REGION("Wait") {
    post(12);
    for (int i = 0; i < 3; i++) MPI_Wait(&requests[i], i == 0 ? &status : MPI_STATUS_IGNORE);
    CHECK(status.MPI_SOURCE == down && count_of(&status) == 12 + down);
    MPI_Request_free(&requests[3]);
  }
  // One of two, the other one being none: it is unknown which of several is first.
  REGION("Waitany") {
    int index;
    post(13);
    MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, &index, &status);
    CHECK(index == 1 && status.MPI_SOURCE == up && requests[1] == MPI_REQUEST_NULL);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
  }
  // The second message is sent when the first one has arrived.
  REGION("Waitsome") {
    int count, indices[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(other + 100 * i, 100, MPI_INT, down, i, WORLD, &requests[i]);
    for (int i = 0; i < 2; i++) {
      MPI_Send(buffer, 14 + i, MPI_INT, up, i, WORLD);
      MPI_Waitsome(2, requests, &count, indices, i ? MPI_STATUSES_IGNORE : statuses);
      CHECK(count == 1 && indices[0] == i);
      MPI_Barrier(WORLD);
    }
    CHECK(statuses[0].MPI_SOURCE == down && statuses[0].MPI_TAG == 0);
  }
}

static void polls(void) {
  int flag, index, count, done, indices[4];
  REGION("Test") {
    post(16);
    for (int i = 0; i < 4; i++)
      for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, i == 0 ? &status : MPI_STATUS_IGNORE);
    CHECK(status.MPI_SOURCE == down && count_of(&status) == 16 + down);
  }
  REGION("Testall") {
    post(17);
    for (flag = 0; !flag;) MPI_Testall(4, requests, &flag, statuses);
    CHECK(statuses[1].MPI_SOURCE == up);
    post(18);
    for (flag = 0; !flag;) MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
  }
  REGION("Testany") {
    post(19);
    for (done = 0; done < 4; done += flag) {
      MPI_Testany(4, requests, &index, &flag, &status);
    }
  }
  REGION("Testsome") {
    post(20);
    for (done = 0; done < 4; done += count) MPI_Testsome(4, requests, &count, indices, statuses);
  }
  REGION("Iprobe") {
    MPI_Isend(buffer, 21, MPI_INT, up, 3, WORLD, &requests[0]);
    for (flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, 3, WORLD, &flag, &status);
    CHECK(status.MPI_SOURCE == down && count_of(&status) == 21);
    MPI_Recv(other, 21, MPI_INT, status.MPI_SOURCE, 3, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
}

static void blocking(void) {
  static char attached[1 << 16];
  void *detached;
  int length;
  REGION("Recv") {
    if (rank == 0)
      for (int i = 0; i < 3; i++) MPI_Send(buffer, 30 + i, MPI_INT, 1, 0, WORLD);
    if (rank == 1) {
      MPI_Recv(other, 100, MPI_INT, 0, 0, WORLD, &status);
      CHECK(status.MPI_SOURCE == 0 && count_of(&status) == 30);
      MPI_Recv(other, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
      CHECK(status.MPI_SOURCE == 0 && count_of(&status) == 31);
      MPI_Recv(other, 100, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
    }
  }
  REGION("modes") {
    MPI_Buffer_attach(attached, sizeof attached);
    if (rank == 0) MPI_Ssend(buffer, 33, MPI_INT, 1, 0, WORLD);
    if (rank == 0) MPI_Bsend(buffer, 34, MPI_INT, 1, 0, WORLD);
    if (rank == 0) MPI_Issend(buffer, 35, MPI_INT, 1, 0, WORLD, &requests[0]);
    if (rank == 1)
      for (int i = 0; i < 3; i++) MPI_Recv(other, 100, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &length);
  }
  REGION("Sendrecv") {
    MPI_Sendrecv(buffer, 36 + rank, MPI_INT, up, 0, other, 100, MPI_INT, down, 0, WORLD, &status);
    CHECK(status.MPI_SOURCE == down && count_of(&status) == 36 + down);
    MPI_Sendrecv(buffer, 39, MPI_INT, up, 0, other, 39, MPI_INT, down, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(buffer, 40, MPI_INT, up, 0, down, 0, WORLD, MPI_STATUS_IGNORE);
  }
  REGION("Probe") {
    MPI_Message message;
    if (rank == 0)
      for (int i = 0; i < 3; i++) MPI_Send(buffer, 41 + i, MPI_INT, 1, 0, WORLD);
    if (rank == 1) {
      MPI_Probe(MPI_ANY_SOURCE, 0, WORLD, &status);
      CHECK(count_of(&status) == 41);
      MPI_Recv(other, 41, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
      MPI_Mprobe(0, MPI_ANY_TAG, WORLD, &message, &status);
      CHECK(count_of(&status) == 42);
      MPI_Mrecv(other, 42, MPI_INT, &message, &status);
      MPI_Mprobe(0, 0, WORLD, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(other, 43, MPI_INT, &message, &requests[0]);
      MPI_Wait(&requests[0], &status);
      CHECK(status.MPI_SOURCE == 0 && count_of(&status) == 43);
    }
  }
  REGION("nobody") {
    MPI_Send(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, WORLD);
    MPI_Recv(other, 9, MPI_INT, MPI_PROC_NULL, 0, WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Isend(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, WORLD, &requests[0]);
    MPI_Irecv(other, 9, MPI_INT, MPI_PROC_NULL, 0, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  REGION("cancelled") {
    int flag;
    MPI_Irecv(other, 9, MPI_INT, down, 99, WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
  }
}

static void persistent(void) {
  int index;
  HALOSCOPE_COMM_REGION_BEGIN("persistent");
  MPI_Send_init(buffer, 50, MPI_INT, up, 4, WORLD, &requests[0]);
  MPI_Recv_init(other, 100, MPI_INT, down, 4, WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    REGION("pass") {
      HALOSCOPE_VALUE("number", 0.5 * i);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, i ? MPI_STATUSES_IGNORE : statuses);
    }
  }
  CHECK(statuses[1].MPI_SOURCE == down && count_of(&statuses[1]) == 50);
  for (int i = 0; i < 2; i++) MPI_Start(&requests[i]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Waitany(2, requests, &index, &status); // the other one is not active
  CHECK(status.MPI_SOURCE == down);
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
  HALOSCOPE_COMM_REGION_END("persistent");
}

static void datatypes(void) {
  MPI_Datatype type;
  MPI_Aint place;
  int length = 7;
  REGION("types") {
    MPI_Type_vector(4, 2, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(buffer, 2, type, up, 0, other, 100, MPI_INT, down, 0, WORLD, &status);
    CHECK(count_of(&status) == 16);
    MPI_Type_free(&type);
  }
  REGION("bottom") {
    MPI_Get_address(buffer, &place);
    MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(MPI_BOTTOM, 1, type, up, 0, other, 100, MPI_INT, down, 0, WORLD, &status);
    CHECK(count_of(&status) == 7);
    MPI_Type_free(&type);
  }
  // In Fortran every second element, which an array section may name.
  REGION("section") {
    if (rank == 0) MPI_Send(buffer, 10, MPI_INT, 1, 0, WORLD);
    if (rank == 1) MPI_Recv(other, 10, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(buffer, 10, MPI_INT, 0, WORLD);
  }
}

// Arguments that are insignificant at other ranks than the root are garbage there.
#define AT_ROOT(here, elsewhere) (rank == root ? (here) : (elsewhere))

static void collectives(void) {
  int root = size - 1, flag;
  int counts[16], all[16], places[16];
  for (int i = 0; i < size; i++) counts[i] = i + 1, all[i] = rank + i + 1, places[i] = 64 * i;
  REGION("Barrier") MPI_Barrier(WORLD);
  REGION("Bcast") MPI_Bcast(buffer, 60, MPI_INT, root, WORLD);
  REGION("Reduce") {
    MPI_Reduce(buffer, other, 61, MPI_INT, MPI_SUM, root, WORLD);
    if (rank == root) MPI_Reduce(MPI_IN_PLACE, other, 62, MPI_INT, MPI_SUM, root, WORLD);
    if (rank != root) MPI_Reduce(buffer, NULL, 62, MPI_INT, MPI_SUM, root, WORLD);
  }
  REGION("Allreduce") {
    MPI_Allreduce(buffer, other, 63, MPI_INT, MPI_SUM, WORLD);
    MPI_Allreduce(MPI_IN_PLACE, other, 64, MPI_INT, MPI_SUM, WORLD);
  }
  REGION("Scan") MPI_Scan(buffer, other, 65, MPI_INT, MPI_SUM, WORLD);
  REGION("Reduce_scatter") MPI_Reduce_scatter(buffer, other, counts, MPI_INT, MPI_SUM, WORLD);
  REGION("Gather") {
    MPI_Gather(buffer, 6, MPI_INT, other, AT_ROOT(6, -7), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), root, WORLD);
    if (rank == root) MPI_Gather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, other, 7, MPI_INT, root, WORLD);
    if (rank != root) MPI_Gather(buffer, 7, MPI_INT, NULL, -7, MPI_DATATYPE_NULL, root, WORLD);
  }
  REGION("Gatherv")
  MPI_Gatherv(buffer, rank + 1, MPI_INT, other, counts, places, MPI_INT, root, WORLD);
  REGION("Scatter") {
    MPI_Scatter(buffer, AT_ROOT(8, -7), AT_ROOT(MPI_INT, MPI_DATATYPE_NULL), other, 8, MPI_INT, root, WORLD);
    if (rank == root) MPI_Scatter(buffer, 9, MPI_INT, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, root, WORLD);
    if (rank != root) MPI_Scatter(NULL, -7, MPI_DATATYPE_NULL, other, 9, MPI_INT, root, WORLD);
  }
  REGION("Allgather") MPI_Allgather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, other, 10, MPI_INT, WORLD);
  REGION("Allgatherv") {
    MPI_Allgatherv(buffer, rank + 1, MPI_INT, other, counts, places, MPI_INT, WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, other, counts, places, MPI_INT, WORLD);
  }
  REGION("Alltoall") MPI_Alltoall(buffer, 11, MPI_INT, other, 11, MPI_INT, WORLD);
  REGION("Alltoallv") MPI_Alltoallv(buffer, all, places, MPI_INT, other, all, places, MPI_INT, WORLD);
  REGION("Iallreduce") {
    MPI_Iallreduce(buffer, other, 66, MPI_INT, MPI_SUM, WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Iallreduce(MPI_IN_PLACE, other, 67, MPI_INT, MPI_SUM, WORLD, &requests[0]);
    MPI_Ibarrier(WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Ibcast(buffer, 68, MPI_INT, root, WORLD, &requests[0]);
    for (flag = 0; !flag;) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  }
}

// In mpi_f08 with counts of MPI_COUNT_KIND, where it has them.
static void large(void) {
  int counts[16], places[16];
  for (int i = 0; i < size; i++) counts[i] = i + 3, places[i] = 64 * i;
  REGION("large counts") {
    if (rank == 0) MPI_Send(buffer, 25, MPI_INT, 1, 0, WORLD);
    if (rank == 1) MPI_Recv(other, 25, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(other, 25, MPI_INT, down, 0, WORLD, &requests[0]);
    MPI_Isend(buffer, 25, MPI_INT, up, 0, WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(count_of(&statuses[0]) == 25);
    MPI_Allreduce(MPI_IN_PLACE, other, 25, MPI_INT, MPI_SUM, WORLD);
    MPI_Allgatherv(buffer, rank + 3, MPI_INT, other, counts, places, MPI_INT, WORLD);
    MPI_Iallreduce(buffer, other, 25, MPI_INT, MPI_SUM, WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
}

// Around the ring of a communicator, whose ranks are others than the world's; then a collective of it.
static void around(MPI_Comm comm, int count) {
  int me, ranks;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  MPI_Irecv(other, count, MPI_INT, (me + ranks - 1) % ranks, 0, comm, &requests[0]);
  MPI_Send(buffer, count, MPI_INT, (me + 1) % ranks, 0, comm);
  MPI_Wait(&requests[0], &status);
  CHECK(status.MPI_SOURCE == (me + ranks - 1) % ranks);
  MPI_Allreduce(MPI_IN_PLACE, other, count, MPI_INT, MPI_SUM, comm);
}

static void communicators(void) {
  MPI_Comm half, reversed, copy, late, ring;
  int periodic = 1, from, to;
  REGION("Comm_split") {
    MPI_Comm_split(WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "halves");
    around(half, 70);
    MPI_Comm_split(WORLD, rank == 0 ? MPI_UNDEFINED : 0, -rank, &reversed);
    if (rank == 0) CHECK(reversed == MPI_COMM_NULL);
    if (rank != 0) around(reversed, 71);
    if (rank != 0) MPI_Comm_free(&reversed);
  }
  REGION("Comm_dup") {
    MPI_Comm_dup(half, &copy);
    around(copy, 72);
    MPI_Comm_free(&copy);
    MPI_Comm_idup(WORLD, &late, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    around(late, 73);
    MPI_Comm_free(&late);
    MPI_Comm_free(&half);
  }
  REGION("Cart_create") {
    MPI_Cart_create(WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &from, &to);
    MPI_Sendrecv(buffer, 74, MPI_INT, to, 0, other, 74, MPI_INT, from, 0, ring, MPI_STATUS_IGNORE);
    MPI_Neighbor_allgather(buffer, 12, MPI_INT, other, 12, MPI_INT, ring);
    MPI_Comm_free(&ring);
  }
}

static void windows(void) {
  MPI_Win window;
  REGION("window") {
    MPI_Win_create(other, 4096, 4, MPI_INFO_NULL, WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(buffer, 80, MPI_INT, up, 0, 80, MPI_INT, window);
    MPI_Accumulate(buffer, 81, MPI_INT, down, 200, 81, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Get(buffer, 82, MPI_INT, up, 0, 82, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  up = (rank + 1) % size, down = (rank + size - 1) % size;
  pending();
  polls();
  blocking();
  persistent();
  datatypes();
  collectives();
  large();
  communicators();
  windows();
  MPI_Finalize();
  return 0;
}
