/* Small programs with one problem each: planted PROBLEM on|off [ITERATIONS [SCALE]].
 *
 * "off" does the same work and sends the same data without the problem. Most computing is a sleep, so that
 * ranks may share processors. Problems of processors compute (`loops`).
 */
#include "planted.h"

static void unequal_work(void) { /* rank 1 has more of the assembly than the others */
  HALOSCOPE_REGION_BEGIN("assemble");
  compute(on ? (rank == 1 ? 8.0 : 8.0 * (ranks - 2) / (ranks - 1)) : 8.0 * (ranks - 1) / ranks);
  HALOSCOPE_REGION_END("assemble");
  HALOSCOPE_REGION_BEGIN("solve");
  compute(6);
  sum();
  HALOSCOPE_REGION_END("solve");
}

static void unmarked_work(void) { /* rank 0 has more, in a program that marks nothing */
  compute(on ? (rank == 0 ? 12.0 : 8.0) : (12.0 + 8.0 * (ranks - 1)) / ranks);
  shift(1024);
}

static void turns_of_work(void) { /* rank 0 has more in one phase, the last rank in the next */
  HALOSCOPE_REGION_BEGIN("first");
  compute(on ? (rank == 0 ? 9.0 : 5.0) : (9.0 + 5.0 * (ranks - 1)) / ranks);
  MPI_Barrier(world);
  HALOSCOPE_REGION_END("first");
  HALOSCOPE_REGION_BEGIN("second");
  compute(on ? (rank == ranks - 1 ? 9.0 : 5.0) : (9.0 + 5.0 * (ranks - 1)) / ranks);
  MPI_Barrier(world);
  HALOSCOPE_REGION_END("second");
}

static void growing_work(void) { /* each rank has more than the preceding one */
  HALOSCOPE_REGION_BEGIN("particles");
  compute(on ? 4.0 + 4.0 * rank : 4.0 + 2.0 * (ranks - 1));
  HALOSCOPE_REGION_END("particles");
  HALOSCOPE_REGION_BEGIN("halo");
  exchange(4000, 0);
  sum();
  HALOSCOPE_REGION_END("halo");
}

static void slow_when(int is_slow) {
  const double factor = on && is_slow ? 1.5 : 1.0;
  HALOSCOPE_REGION_BEGIN("assemble");
  compute(4 * factor);
  HALOSCOPE_REGION_END("assemble");
  HALOSCOPE_REGION_BEGIN("smooth");
  compute(6 * factor);
  exchange(2000, 0);
  HALOSCOPE_REGION_END("smooth");
  HALOSCOPE_REGION_BEGIN("restrict");
  compute(3 * factor);
  sum();
  HALOSCOPE_REGION_END("restrict");
}

static void slow_rank(void) { slow_when(rank == ranks - 2); }
static void slow_host(void) { slow_when(rank >= ranks / 2); } /* hosts are filled in order */

static void one_cpu(void) { /* both ranks are bound to the same processor before MPI starts, see main */
  HALOSCOPE_REGION_BEGIN("compute");
  loops(3000);
  sum();
  HALOSCOPE_REGION_END("compute");
}

static void many_small(void) { /* one value per message, to the right and to the left */
  static MPI_Request requests[4 * SMALL];
  const int parts = on ? SMALL : 1, bytes = 16 * SMALL / parts;
  compute(0.1);
  HALOSCOPE_COMM_REGION_BEGIN("halo");
  for (int i = 0; i < parts; i++) {
    MPI_Irecv(in + 16 * i, bytes, MPI_CHAR, left(), i, world, &requests[4 * i]);
    MPI_Irecv(in + LARGE + 16 * i, bytes, MPI_CHAR, right(), SMALL + i, world, &requests[4 * i + 1]);
    MPI_Isend(out + 16 * i, bytes, MPI_CHAR, right(), i, world, &requests[4 * i + 2]);
    MPI_Isend(out + LARGE + 16 * i, bytes, MPI_CHAR, left(), SMALL + i, world, &requests[4 * i + 3]);
  }
  MPI_Waitall(4 * parts, requests, MPI_STATUSES_IGNORE);
  HALOSCOPE_COMM_REGION_END("halo");
}

static void many_results(void) { /* the others send their results one by one to rank 0 */
  const int parts = on ? SMALL : 1, bytes = 32 * SMALL / parts;
  compute(0.2);
  HALOSCOPE_COMM_REGION_BEGIN("collect");
  for (int i = 0; i < parts; i++) {
    if (rank) MPI_Send(out + 32 * i, bytes, MPI_CHAR, 0, 0, world);
    for (int from = 1; !rank && from < ranks; from++) {
      MPI_Recv(in + 32 * i, bytes, MPI_CHAR, from, 0, world, MPI_STATUS_IGNORE);
    }
  }
  HALOSCOPE_COMM_REGION_END("collect");
  MPI_Barrier(world);
}

static void late_send(void) { /* rank 0 computes before it sends data that other ranks wait for */
  if (rank == 0) {
    if (on) compute(5);
    HALOSCOPE_REGION_BEGIN("boundary");
    for (int to = 1; to < ranks; to++) MPI_Send(out, 800, MPI_CHAR, to, 0, world);
    HALOSCOPE_REGION_END("boundary");
    compute(on ? 5 : 10);
  } else {
    HALOSCOPE_REGION_BEGIN("boundary");
    MPI_Recv(in, 800, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);
    HALOSCOPE_REGION_END("boundary");
    compute(10);
  }
  MPI_Barrier(world);
}

static void late_exchange(void) { /* each even rank sends late, each odd one works after it has received */
  const int partner = rank ^ 1;
  if (rank % 2 == 0) {
    compute(on ? 4 : 0);
    MPI_Send(out, 400, MPI_CHAR, partner, 0, world);
    compute(on ? 4 : 8);
  } else {
    MPI_Recv(in, 400, MPI_CHAR, partner, 0, world, MPI_STATUS_IGNORE);
    compute(8);
  }
  sum();
}

static void late_taking(int bytes, int is_late) { /* the receiver works before it receives */
  if (rank % 2 == 0) {
    MPI_Send(out, bytes, MPI_CHAR, rank + 1, 0, world);
    compute(8);
  } else {
    compute(is_late ? 4 : 0);
    MPI_Recv(in, bytes, MPI_CHAR, rank - 1, 0, world, MPI_STATUS_IGNORE);
    compute(is_late ? 4 : 8);
  }
  MPI_Barrier(world);
}

static void late_receive(void) { late_taking(LARGE, on); }
#ifdef OPEN_MPI
enum { BELOW = 240, OVER = 300 }; /* sizes below and above the eager limit within a node */
#else
enum { BELOW = 8000, OVER = 9000 };
#endif
static void over_limit(void) { late_taking(on ? OVER : BELOW, 1); }
static void over_limit_of_network(void) { late_taking(on ? 66000 : 65000, 1); }

static void chain(void) { /* each rank waits for the preceding one */
  HALOSCOPE_REGION_BEGIN("sweep");
  if (on && rank) MPI_Recv(in, 800, MPI_CHAR, rank - 1, 0, world, MPI_STATUS_IGNORE);
  compute(4);
  if (on && rank < ranks - 1) MPI_Send(out, 800, MPI_CHAR, rank + 1, 0, world);
  sum();
  HALOSCOPE_REGION_END("sweep");
}

static void turns(void) { /* two ranks alternate, as question and answer */
  const int partner = rank ^ 1;
  if (!on) {
    compute(4);
    MPI_Sendrecv(out, 80, MPI_CHAR, partner, 0, in, 80, MPI_CHAR, partner, 0, world, MPI_STATUS_IGNORE);
  } else if (rank % 2 == 0) {
    compute(4);
    MPI_Send(out, 80, MPI_CHAR, partner, 0, world);
    MPI_Recv(in, 80, MPI_CHAR, partner, 0, world, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, 80, MPI_CHAR, partner, 0, world, MPI_STATUS_IGNORE);
    compute(4);
    MPI_Send(out, 80, MPI_CHAR, partner, 0, world);
  }
}

static void overlapping(int bytes, double milliseconds) {
  HALOSCOPE_REGION_BEGIN("step");
  exchange(bytes, on ? 0 : milliseconds);
  if (on) compute(milliseconds);
  HALOSCOPE_REGION_END("step");
}

static void no_overlap(void) { overlapping(4000, 6); }
static void no_overlap_large(void) { overlapping(LARGE, 2); }

static void broadcast(void) { /* the launch options determine the algorithm */
  compute(0.2);
  HALOSCOPE_REGION_BEGIN("tables");
  MPI_Bcast(out, 65536, MPI_CHAR, 0, world);
  HALOSCOPE_REGION_END("tables");
}

static void scattered(void) { /* with this numbering, neighbours of the ring are on different hosts */
  const int hosts = 4, across = ranks / hosts;
  const int place = on ? (rank % across) * hosts + rank / across : rank; /* of this rank in the ring */
  const int next = (place + 1) % ranks, before = (place + ranks - 1) % ranks;
  const int to = on ? (next % hosts) * across + next / hosts : next;
  const int from = on ? (before % hosts) * across + before / hosts : before;
  compute(0.5);
  HALOSCOPE_COMM_REGION_BEGIN("ring");
  MPI_Sendrecv(out, LARGE, MPI_CHAR, to, 0, in, LARGE, MPI_CHAR, from, 0, world, MPI_STATUS_IGNORE);
  HALOSCOPE_COMM_REGION_END("ring");
}

static void polls(void) { /* probes for messages after each small piece of work */
  int there;
  for (int i = 0; i < 20000; i++) {
    loops(0.2);
    if (on || i % 1000 == 0) MPI_Iprobe(MPI_ANY_SOURCE, 99, world, &there, MPI_STATUS_IGNORE);
  }
  sum();
}

static void new_communicators(void) {
  static MPI_Comm kept;
  MPI_Comm half = kept;
  compute(0.2);
  HALOSCOPE_REGION_BEGIN("reduce rows");
  for (int i = 0; i < 20; i++) {
    double mine = rank, all;
    if (on || !kept) MPI_Comm_split(world, rank % 2, rank, &half);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, half);
    if (on)
      MPI_Comm_free(&half);
    else
      kept = half;
  }
  HALOSCOPE_REGION_END("reduce rows");
}

static const struct program problems[] = {
    {"unequal_work", unequal_work},
    {"unmarked_work", unmarked_work},
    {"turns_of_work", turns_of_work},
    {"growing_work", growing_work},
    {"slow_rank", slow_rank},
    {"slow_host", slow_host},
    {"one_cpu", one_cpu},
    {"many_small", many_small},
    {"many_results", many_results},
    {"late_send", late_send},
    {"late_exchange", late_exchange},
    {"late_receive", late_receive},
    {"over_limit", over_limit},
    {"over_limit_of_network", over_limit_of_network},
    {"chain", chain},
    {"turns", turns},
    {"no_overlap", no_overlap},
    {"no_overlap_large", no_overlap_large},
    {"broadcast", broadcast},
    {"scattered", scattered},
    {"polls", polls},
    {"new_communicators", new_communicators},
};

int main(int argc, char **argv) { return run(argc, argv, problems, sizeof problems / sizeof *problems); }
