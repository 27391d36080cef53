/* The same ranks and tags in other communicators: made in every way, freed early, intercommunicators. */
#include "conform.h"

static void exchange(MPI_Comm c) {
  int me, all;
  MPI_Comm_rank(c, &me);
  MPI_Comm_size(c, &all);
  Pending out = giving(large + me, (me + 1) % all, 1, c), after = giving(small, (me + 1) % all, 1, c);
  take(huge, MPI_ANY_SOURCE, 1, c);
  take(huge, (me + all - 1) % all, MPI_ANY_TAG, c);
  done(&out);
  done(&after);
}

/* Sent in one order of communicators and received in the other. */
static void separate(void) {
  MPI_Comm dup, again, reversed, all[4];
  MPI_Comm_dup(comm, &dup);
  MPI_Comm_dup(dup, &again);
  MPI_Comm_split(comm, 0, size - rank, &reversed);
  all[0] = comm, all[1] = dup, all[2] = again, all[3] = reversed;
  Pending out[8];
  int me;
  for (int i = 0; i < 8; ++i) {
    MPI_Comm_rank(all[i % 4], &me);
    out[i] = giving(i < 4 ? least + i : small + i, (me + 1) % size, 1, all[i % 4]);
  }
  for (int i = 4; i--;) {
    MPI_Comm_rank(all[i], &me);
    take(huge, i % 2 ? MPI_ANY_SOURCE : (me + size - 1) % size, MPI_ANY_TAG, all[i]);
    take(huge, (me + size - 1) % size, 1, all[i]);
  }
  for (int i = 0; i < 8; ++i) done(&out[i]);
  for (int i = 1; i < 4; ++i) MPI_Comm_free(&all[i]);
}

static void made(void) {
  MPI_Comm c;
  MPI_Group group, some;
  MPI_Request request;
  MPI_Comm_group(comm, &group);
  const int ranks[] = {1, 0};
  MPI_Group_incl(group, 2, ranks, &some);
  MPI_Comm_create(comm, some, &c);
  if (c != MPI_COMM_NULL) exchange(c), MPI_Comm_free(&c);
  if (rank < 2) MPI_Comm_create_group(comm, some, 4, &c), exchange(c), MPI_Comm_free(&c);
  MPI_Comm_idup(comm, &c, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  exchange(c), MPI_Comm_free(&c);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &c);
  exchange(c), MPI_Comm_free(&c);
  MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &c);
  exchange(c), MPI_Comm_free(&c);
  MPI_Comm_split(comm, rank % 2, 0, &c);
  exchange(c), MPI_Comm_free(&c);
  MPI_Group_free(&some);
  MPI_Group_free(&group);
}

static void topologies(void) {
  MPI_Comm c;
  const int periods[] = {1}, next[] = {(rank + 1) % size}, last[] = {(rank + size - 1) % size};
  int from, to;
  MPI_Cart_create(comm, 1, &size, periods, 1, &c);
  MPI_Cart_shift(c, 0, 1, &from, &to);
  Pending out = giving(large, to, 1, c);
  take(large, from, 1, c);
  done(&out);
  MPI_Comm_free(&c);
  MPI_Dist_graph_create_adjacent(comm, 1, last, MPI_UNWEIGHTED, 1, next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &c);
  exchange(c);
  MPI_Comm_free(&c);
}

/* Ranks are those of the other group. */
static void between_groups(void) {
  MPI_Comm mine, inter, merged, dup;
  int me, others;
  MPI_Comm_split(comm, rank % 2, rank, &mine);
  MPI_Intercomm_create(mine, 0, comm, 1 - rank % 2, 5, &inter);
  MPI_Comm_dup(inter, &dup);
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &others);
  for (int i = 0; i < 3; ++i) {
    MPI_Comm c = i % 2 ? dup : inter;
    /* Pairs of the same rank; with an odd number of ranks one is left over. */
    if (me >= others) continue;
    Pending out = giving(i ? large + i : small, me, 1, c), in = taking(huge, i ? MPI_ANY_SOURCE : me, 1, c);
    finish(&in);
    done(&out);
  }
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  exchange(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&mine);
}

/* A communicator that is freed during communication exists until all messages have arrived. */
static void freed_early(void) {
  for (int i = 0; i < 6; ++i) {
    MPI_Comm c;
    MPI_Comm_dup(comm, &c);
    Pending out = giving(least << i % 3, (rank + 1) % size, i, c);
    Pending in = taking(huge, i % 2 ? MPI_ANY_SOURCE : (rank + size - 1) % size, i, c);
    MPI_Comm_free(&c);
    MPI_Comm_dup(comm, &c); /* may get the address of the freed one */
    Pending second_out = giving(larger, (rank + 1) % size, i, c);
    Pending second_in = taking(huge, MPI_ANY_SOURCE, i, c);
    finish(&second_in);
    finish(&in);
    done(&second_out);
    done(&out);
    MPI_Comm_free(&c);
  }
}

static void one_after_the_other(void) {
  for (int i = 0; i < 40; ++i) {
    MPI_Comm c;
    MPI_Comm_split(comm, rank < 2, i % 2 ? rank : -rank, &c);
    if (i % 4 == 0) exchange(c);
    MPI_Comm_free(&c);
  }
}

const Case communicators[] = {{"separate", separate},
                              {"made", made},
                              {"topologies", topologies},
                              {"between_groups", between_groups},
                              {"freed_early", freed_early},
                              {"one_after_the_other", one_after_the_other},
                              {0}};
