/* Patterns in which programs exchange large messages. In most, a rank waits for something else than its
 * posted receive. `patterns ROUNDS BYTES [MEMORY] NAME...` prints the median seconds of a round of each
 * pattern. The ranks are a ring, of an even number. MEMORY is alloc, malloc or static. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, bytes, next, last;
static char *out, *in;
static const MPI_Comm comm = MPI_COMM_WORLD;

static MPI_Request posted(void) {
  MPI_Request request;
  MPI_Irecv(in, bytes, MPI_BYTE, last, 0, comm, &request);
  return request;
}

static void end(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void irecv_send_wait(void) {
  const MPI_Request receive = posted();
  MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
  end(receive);
}

static void irecv_ssend_wait(void) {
  const MPI_Request receive = posted();
  MPI_Ssend(out, bytes, MPI_BYTE, next, 0, comm);
  end(receive);
}

static void wait_for_the_send(void) {
  const MPI_Request receive = posted();
  MPI_Request send;
  MPI_Isend(out, bytes, MPI_BYTE, next, 0, comm, &send);
  end(send);
  end(receive);
}

static void test_for_the_send(void) {
  const MPI_Request receive = posted();
  MPI_Request send;
  MPI_Isend(out, bytes, MPI_BYTE, next, 0, comm, &send);
  for (int done = 0; !done;) MPI_Test(&send, &done, MPI_STATUS_IGNORE);
  end(receive);
}

static void sendrecv(void) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, next, 0, in, bytes, MPI_BYTE, last, 0, comm, MPI_STATUS_IGNORE);
}

static void in_place(void) {
  memcpy(in, out, (size_t)bytes);
  MPI_Sendrecv_replace(in, bytes, MPI_BYTE, next, 0, last, 0, comm, MPI_STATUS_IGNORE);
}

static void in_turns(int synchronous) {
  for (int turn = 0; turn < 2; turn++)
    if (turn != rank % 2)
      MPI_Recv(in, bytes, MPI_BYTE, last, 0, comm, MPI_STATUS_IGNORE);
    else
      (synchronous ? MPI_Ssend : MPI_Send)(out, bytes, MPI_BYTE, next, 0, comm);
}
static void send_recv(void) { in_turns(0); }
static void ssend_recv(void) { in_turns(1); }

static void a_barrier_between(void) {
  const MPI_Request receive = posted();
  MPI_Request send;
  MPI_Isend(out, bytes, MPI_BYTE, next, 0, comm, &send);
  MPI_Barrier(comm);
  end(send);
  end(receive);
}

/* The sender enters the barrier after it has sent. */
static void sent_before_a_barrier(void) {
  const MPI_Request receive = posted();
  if (rank % 2) MPI_Ssend(out, bytes, MPI_BYTE, next, 0, comm);
  MPI_Barrier(comm);
  if (!(rank % 2)) MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
  end(receive);
}

/* The receiver waits for a small message that is sent after the large one. */
static void note_behind(int way) {
  const MPI_Request receive = posted();
  MPI_Request small;
  int note = 0, index;
  if (way == 0) MPI_Irecv(&note, 1, MPI_INT, last, 1, comm, &small);
  if (rank % 2) {
    MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
    MPI_Send(&rank, 1, MPI_INT, next, 1, comm);
  }
  if (way == 0) MPI_Waitany(1, &small, &index, MPI_STATUS_IGNORE);
  if (way == 2) MPI_Probe(last, 1, comm, MPI_STATUS_IGNORE);
  if (way != 0) MPI_Recv(&note, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
  if (!(rank % 2)) {
    MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
    MPI_Send(&rank, 1, MPI_INT, next, 1, comm);
  }
  end(receive);
  if (note != last) MPI_Abort(comm, 3);
}
static void a_note_is_awaited(void) { note_behind(0); }
static void a_note_is_received(void) { note_behind(1); }
static void a_note_is_probed(void) { note_behind(2); }

/* Above the eager limit of most MPIs, but below the smallest size that the shm library handles. */
static void a_medium_send(void) {
  enum { medium = 20000 };
  static char there[medium], here[medium];
  const MPI_Request receive = posted();
  if (rank % 2) {
    MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
    MPI_Recv(here, medium, MPI_BYTE, last, 1, comm, MPI_STATUS_IGNORE);
    MPI_Send(there, medium, MPI_BYTE, next, 1, comm);
  } else {
    MPI_Send(there, medium, MPI_BYTE, next, 1, comm);
    MPI_Recv(here, medium, MPI_BYTE, last, 1, comm, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
  }
  end(receive);
}

/* An exchange in place while a large receive is posted. */
static void in_place_between(void) {
  static char here[1 << 16];
  const MPI_Request receive = posted();
  if (rank % 2) MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
  MPI_Sendrecv_replace(here, sizeof here, MPI_BYTE, next, 1, last, 1, comm, MPI_STATUS_IGNORE);
  if (!(rank % 2)) MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
  end(receive);
}

/* Three messages at once, of unequal sizes. */
static void unequal(void) {
  enum { short_one = 100 };
  const int lengths[] = {bytes / 2, short_one, bytes - bytes / 2 - short_one};
  MPI_Request requests[6];
  for (int i = 0, at = 0; i < 3; at += lengths[i++]) {
    MPI_Irecv(in + at, lengths[i], MPI_BYTE, last, i, comm, requests + i);
    MPI_Isend(out + at, lengths[i], MPI_BYTE, next, i, comm, requests + 3 + i);
  }
  MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
}

/* An array in two messages, each of which has every second block of `block` bytes. */
static void in_blocks(int block) {
  MPI_Datatype half;
  MPI_Request requests[4];
  MPI_Type_vector(bytes / (2 * block), block, 2 * block, MPI_BYTE, &half);
  MPI_Type_commit(&half);
  for (int i = 0; i < 2; i++) {
    MPI_Irecv(in + i * block, 1, half, last, i, comm, requests + i);
    MPI_Isend(out + i * block, 1, half, next, i, comm, requests + 2 + i);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&half);
}
static void vector_halves(void) { in_blocks(512); }
static void vector_doubles(void) { in_blocks(8); }

/* Half of the ranks receive, after ten milliseconds without MPI. */
static void a_late_receiver(void) {
  if (rank % 2) {
    MPI_Send(out, bytes, MPI_BYTE, next, 0, comm);
    in[0] = in[bytes - 1] = (char)(out[0] - rank + last);
  } else {
    const struct timespec while_away = {0, 10000000};
    nanosleep(&while_away, NULL);
    MPI_Recv(in, bytes, MPI_BYTE, last, 0, comm, MPI_STATUS_IGNORE);
  }
}

static const struct {
  const char *name;
  void (*run)(void);
} patterns[] = {
    {"irecv-send-wait", irecv_send_wait},
    {"irecv-ssend-wait", irecv_ssend_wait},
    {"wait-for-the-send", wait_for_the_send},
    {"test-for-the-send", test_for_the_send},
    {"sendrecv", sendrecv},
    {"sendrecv-replace", in_place},
    {"send-recv", send_recv},
    {"ssend-recv", ssend_recv},
    {"barrier-between", a_barrier_between},
    {"sent-before-a-barrier", sent_before_a_barrier},
    {"note-awaited", a_note_is_awaited},
    {"note-received", a_note_is_received},
    {"note-probed", a_note_is_probed},
    {"medium-send", a_medium_send},
    {"replace-between", in_place_between},
    {"unequal-waitall", unequal},
    {"vector-halves", vector_halves},
    {"vector-doubles", vector_doubles},
    {"late-receiver", a_late_receiver},
};

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double measured(void (*run)(void), int rounds) {
  double *times = malloc((size_t)rounds * sizeof *times);
  for (int i = 0; i < rounds; i++) {
    out[0] = out[bytes - 1] = (char)(i + rank);
    in[0] = in[bytes - 1] = 0;
    MPI_Barrier(comm);
    const double begin = MPI_Wtime();
    run();
    times[i] = MPI_Wtime() - begin;
    if (in[0] != (char)(i + last) || in[bytes - 1] != (char)(i + last)) MPI_Abort(comm, 4);
  }
  qsort(times, (size_t)rounds, sizeof *times, ascending);
  const double median = times[rounds / 2];
  free(times);
  return median;
}

static char fixed[2][1 << 21];

static char *taken(const char *memory, int which) {
  char *found = fixed[which];
  if (strcmp(memory, "alloc") == 0) MPI_Alloc_mem(bytes, MPI_INFO_NULL, &found);
  if (strcmp(memory, "malloc") == 0) found = malloc((size_t)bytes);
  if (found == fixed[which] && bytes > (int)sizeof fixed[which]) MPI_Abort(comm, 5);
  memset(found, 1, (size_t)bytes);
  return found;
}

static void given_back(const char *memory, char *data) {
  if (strcmp(memory, "alloc") == 0) MPI_Free_mem(data);
  if (strcmp(memory, "malloc") == 0) free(data);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  next = (rank + 1) % size;
  last = (rank + size - 1) % size;
  bytes = atoi(argv[2]);
  const int names =
      strcmp(argv[3], "malloc") && strcmp(argv[3], "static") && strcmp(argv[3], "alloc") ? 3 : 4;
  const char *memory = names == 4 ? argv[3] : "alloc";
  out = taken(memory, 0);
  in = taken(memory, 1);
  for (int i = names; i < argc; i++)
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++)
      if (!strcmp(argv[i], patterns[k].name) || !strcmp(argv[i], "all")) {
        const double time = measured(patterns[k].run, atoi(argv[1]));
        double slowest = 0;
        MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
        if (rank == 0) printf("%s %.9f\n", patterns[k].name, slowest), fflush(stdout);
      }
  given_back(memory, out);
  given_back(memory, in);
  MPI_Finalize();
  return 0;
}
