/* Messages by rare features of MPI: the time of each for rank 1, and the number of polls without result. The
 * first message of rank 0 is very late, see `order`. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int rank, polls;
static int sent[4] = {1, 2, 3, 4}, got[4];
static double begin;
static MPI_Comm world;

static void expect(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The measuring rank's time begins before the other rank continues. This has no injected latency. */
static void meet(int measures) {
  PMPI_Barrier(world);
  begin = now();
  polls = 0;
  if (rank == measures)
    PMPI_Send(NULL, 0, MPI_BYTE, 1 - rank, 9, world);
  else
    PMPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, 9, world, MPI_STATUS_IGNORE);
}
static void say(int measures, const char *name) {
  if (rank == measures) printf("%s %.6f %d\n", name, now() - begin, polls), fflush(stdout);
}
static void finish(MPI_Request *request) {
  for (int done = 0; !done; polls += !done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}
static void message(MPI_Comm comm, const char *name) {
  meet(1);
  if (rank == 0) MPI_Send(sent, 1, MPI_INT, 1, 4, comm);
  if (rank == 1) MPI_Recv(got, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE);
  say(1, name);
}

/* The first message takes seconds, the second does not: each receive has the latency of its own message. */
static void order(void) {
  MPI_Request requests[2];
  meet(1);
  if (rank == 0)
    for (int i = 0; i < 2; i++) MPI_Send(&sent[i], 1, MPI_INT, 1, 3, world);
  else {
    for (int i = 0; i < 2; i++)
      MPI_Irecv(&got[i], 1, MPI_INT, i ? MPI_ANY_SOURCE : 0, 3, world, &requests[i]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    say(1, "second");
    int early;
    MPI_Test(&requests[0], &early, MPI_STATUS_IGNORE);
    /* Unless the machine stopped this rank for seconds. */
    expect(!early || now() - begin > 3.0, "the second message came with the first one's latency");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect(got[0] == 1 && got[1] == 2, "order");
  }
  say(1, "first");
}

static void communicators(void) {
  MPI_Comm copies[2];
  MPI_Request requests[2];
  for (int i = 0; i < 2; i++) MPI_Comm_idup(world, &copies[i], &requests[i]);
  for (int i = 0; i < 2; i++) MPI_Wait(&requests[rank ? i : 1 - i], MPI_STATUS_IGNORE);
  message(copies[1], "idup");
  meet(1);
  if (rank == 1) MPI_Irecv(got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copies[0], &requests[0]);
  if (rank == 0) MPI_Isend(sent, 1, MPI_INT, 1, 0, copies[0], &requests[0]);
  MPI_Comm_free(&copies[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  say(1, "freed");
  MPI_Comm_free(&copies[1]);
  if (rank == 1) { /* a cancelled receive leaves no latency */
    MPI_Irecv(got, 1, MPI_INT, 0, 4, world, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  message(world, "cancelled");
}

static void one_sided(void) {
  int memory[4] = {0};
  MPI_Win win;
  MPI_Group all, other;
  MPI_Request request;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, world, &win);
  MPI_Win_fence(0, win);
  meet(1);
  if (rank == 0) MPI_Put(sent, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  expect(rank == 0 || memory[0] == 1, "MPI_Put");
  say(1, "fence");
  meet(1);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(sent, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush_local(0, win);
    say(1, "local");
    MPI_Win_flush(0, win);
    say(1, "flush");
    begin = now();
    MPI_Accumulate(sent, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    say(1, "unlock");
    MPI_Win_lock_all(0, win);
    begin = now();
    MPI_Rget(got, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request);
    finish(&request);
    say(1, "Rget");
    expect(got[0] == 2, "MPI_Rget");
    begin = now();
    MPI_Fetch_and_op(sent, got, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush_local_all(win);
    say(1, "fetch");
    MPI_Win_unlock_all(win);
  }
  MPI_Comm_group(world, &all);
  MPI_Group_incl(all, 1, &(int){1 - rank}, &other);
  meet(1);
  if (rank == 0) {
    MPI_Win_start(other, 0, win);
    MPI_Put(sent, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
    MPI_Win_complete(win);
  } else {
    MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
    expect(memory[1] == 1, "MPI_Put");
  }
  say(1, "exposure");
  MPI_Group_free(&all), MPI_Group_free(&other);
  MPI_Win_free(&win);
}

static void neighborhoods(void) {
  MPI_Comm chain, arrow;
  MPI_Request request;
  MPI_Cart_create(world, 1, &(int){2}, &(int){0}, 0, &chain);
  meet(1);
  MPI_Neighbor_allgather(sent, 1, MPI_INT, got, 1, MPI_INT, chain);
  say(1, "neighbours");
  const int from = 0, to = 1; /* only rank 0 to rank 1 */
  MPI_Dist_graph_create_adjacent(world, rank, &from, &to, 1 - rank, &to, &to, MPI_INFO_NULL, 0, &arrow);
  meet(1);
  MPI_Ineighbor_allgather(sent, 1, MPI_INT, got, 1, MPI_INT, arrow, &request);
  finish(&request);
  say(1, "arrow");
  say(0, "nobody");
  MPI_Comm_free(&chain), MPI_Comm_free(&arrow);
}

#if MPI_VERSION >= 4
static void persistent(void) {
  MPI_Request request;
  MPI_Allreduce_init(sent, got, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; i++) {
    meet(1);
    MPI_Start(&request);
    finish(&request);
    expect(got[0] == 2, "MPI_Allreduce_init");
    say(1, "persistent");
  }
  MPI_Request_free(&request);
}

static void partitioned(void) {
  MPI_Request request;
  if (rank == 0) MPI_Psend_init(sent, 4, 1, MPI_INT, 1, 4, world, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Precv_init(got, 2, 2, MPI_INT, 0, 4, world, MPI_INFO_NULL, &request);
  for (int pass = 0; pass < 2; pass++) {
    MPI_Start(&request);
    meet(1);
    memset(got, 0, sizeof got);
    if (rank == 0) MPI_Pready_list(2, (int[]){1, 0}, request), MPI_Pready_range(2, 3, request);
    for (int there = 0; rank == 1 && !there; polls += !there) MPI_Parrived(request, 0, &there);
    say(1, "partition");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(rank == 0 || got[3] == 4, "MPI_Pready");
    say(1, "partitioned");
  }
  MPI_Request_free(&request);
}

static void alone(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
  MPI_Group_free(&group);
  MPI_Comm_rank(world, &rank);
  order();
  MPI_Comm copy;
  MPI_Comm_dup(world, &copy);
  message(copy, "session");
  MPI_Comm_free(&copy), MPI_Comm_free(&world);
  MPI_Session_finalize(&session);
}
#endif

static void spawned(char *program) {
  MPI_Comm others, together;
  MPI_Comm_get_parent(&others);
  const int is_child = others != MPI_COMM_NULL;
  if (!is_child)
    MPI_Comm_spawn(program, (char *[]){"spawn", NULL}, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &others,
                   MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(others, is_child, &together);
  world = together, rank = is_child;
  message(together, "merged");
  meet(1);
  if (is_child)
    MPI_Recv(got, 1, MPI_INT, 0, 4, others, MPI_STATUS_IGNORE);
  else
    MPI_Send(sent, 1, MPI_INT, 0, 4, others);
  say(1, "spawned");
  MPI_Comm_free(&together);
  MPI_Comm_disconnect(&others);
}

int main(int argc, char **argv) {
#if MPI_VERSION >= 4
  if (argc > 1 && !strcmp(argv[1], "session")) return alone(), 0;
#endif
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (argc > 1 && !strcmp(argv[1], "spawn")) {
    spawned(argv[0]);
  } else {
    MPI_Comm_rank(world = MPI_COMM_WORLD, &rank);
    order();
    communicators();
    one_sided();
    neighborhoods();
#if MPI_VERSION >= 4
    persistent();
    partitioned();
#endif
  }
  MPI_Finalize();
  return 0;
}
