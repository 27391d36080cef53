// Messages and collectives through communicators of all kinds: partners are world ranks.
#include "common.h"

// One message around the communicator, 4 bytes each.
static void around(MPI_Comm comm) {
  int me, n;
  MPI_Comm_rank(comm, &me), MPI_Comm_size(comm, &n);
  MPI_Sendrecv(buffer, 1, MPI_INT, (me + 1) % n, 0, other, 1, MPI_INT, (me + n - 1) % n, 0, comm,
               MPI_STATUS_IGNORE);
}

static void same_partner(void) {
  MPI_Comm twin, turned, pending;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned); // rank 0 is last
  MPI_Comm_idup(MPI_COMM_WORLD, &pending, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REGION("same partner") { // two ranks: always the other one
    around(MPI_COMM_WORLD);
    around(twin);
    around(turned);
    around(pending);
  }
  // In the turned communicator it goes the other way round.
  REGION("turned") around(turned);
  MPI_Comm_free(&twin), MPI_Comm_free(&turned), MPI_Comm_free(&pending);
}

// Even and odd ranks apart.
static void halves(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  REGION("halves") {
    around(half);
    MPI_Allreduce(buffer, other, 2, MPI_INT, MPI_SUM, half);
  }
  MPI_Comm_free(&half);
}

static void made_of_groups(void) {
  MPI_Group world, last;
  MPI_Comm alone, member;
  int ranks[1] = {size - 1};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, ranks, &last);
  MPI_Comm_create(MPI_COMM_WORLD, last, &alone);
  REGION("created") if (alone != MPI_COMM_NULL) around(alone);
  if (alone != MPI_COMM_NULL) MPI_Comm_free(&alone);
  if (rank == size - 1) {
    MPI_Comm_create_group(MPI_COMM_WORLD, last, 0, &member);
    REGION("created by a group") around(member);
    MPI_Comm_free(&member);
  }
  MPI_Group_free(&world), MPI_Group_free(&last);
}

static void grid(void) {
  MPI_Comm line, part;
  int shape[2] = {size, 1}, periods[2] = {0, 0}, keep[2] = {0, 1}, left, right;
  MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 1, &line);
  MPI_Cart_shift(line, 0, 1, &left, &right);
  REGION("line") { // the last rank sends to nobody
    MPI_Sendrecv(buffer, 2, MPI_INT, right, 0, other, 2, MPI_INT, left, 0, line, MPI_STATUS_IGNORE);
  }
  MPI_Cart_sub(line, keep, &part);
  REGION("alone in the line") around(part);
  MPI_Comm_free(&part), MPI_Comm_free(&line);
}

#if !defined(SIMULATED)
// Each rank but the first talks with rank 0, which is rank 0 of the remote group.
static void between_groups(void) {
  MPI_Comm side, pair, merged;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &pair);
  REGION("between groups") {
    if (rank > 0) MPI_Send(buffer, rank, MPI_INT, 0, 0, pair);
    for (int i = 1; rank == 0 && i < size; i++)
      MPI_Recv(buffer, size, MPI_INT, MPI_ANY_SOURCE, 0, pair, MPI_STATUS_IGNORE);
  }
  MPI_Intercomm_merge(pair, rank == 0, &merged); // rank 0 is last
  REGION("merged") around(merged);
  MPI_Comm_free(&merged), MPI_Comm_free(&pair), MPI_Comm_free(&side);
}

#endif

// A freed communicator's handle may come back for one with other members.
static void reused_handles(void) {
  for (int i = 0; i < 6; i++) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? 0 : rank, -rank, &comm);
    REGION(i % 2 ? "all, reused" : "alone, reused") around(comm);
    MPI_Comm_free(&comm);
  }
}

// Freed while a receive is pending: that completes all the same.
static void freed_early(void) {
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  REGION("freed early") {
    MPI_Irecv(other, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request);
    MPI_Send(buffer, 1, MPI_INT, (size - 1 - rank + 1) % size, 0, comm);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comm); // perhaps the same handle
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
  }
}

static void named(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "ocean");
  MPI_Allreduce(buffer, other, 10, MPI_INT, MPI_SUM, comm);
  around(comm);
  MPI_Comm_free(&comm);
}

#if !defined(SIMULATED)
// Two groups and their inter-communicator, all of one name.
static void alike(void) {
  MPI_Comm half, pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &pair);
  MPI_Comm_set_name(half, "shore");
  MPI_Comm_set_name(pair, "shore");
  MPI_Barrier(half), MPI_Barrier(pair);
  MPI_Comm_free(&pair), MPI_Comm_free(&half);
}

#endif

int main(int argc, char **argv) {
  start(&argc, &argv);
  same_partner();
  halves();
  made_of_groups();
  grid();
#if !defined(SIMULATED)
  between_groups();
#endif
  reused_handles();
  freed_early();
  named();
#if !defined(SIMULATED)
  alike();
#endif
  MPI_Finalize();
  return 0;
}
