// Sends the messages of schedules under SimGrid's SMPI and prints the times of each schedule: replay FILE BYTES.
// BYTES is the size of a rank's buffer.
// FILE has 64-bit integers. First the number of schedules; per schedule the number of messages and the largest
// size; per message its source, target, their steps, bytes, bytes to add, and whether the receive is not posted ahead.
// Numbers of messages below 0 are SimGrid's own collectives of these bytes: -1 a broadcast, -2 a reduction.
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int64_t source, target, source_step, target_step, bytes, added, meets;
} message;

static const double gamma_of_byte = 1 / 5e9, alignment = 1e-4;
static int rank;
static char *buffer;

// A message of this rank, with its step on this rank and its request.
typedef struct {
  const message *of;
  int64_t step;
  int posted;
  MPI_Request request;
} own;

static void post(own *one) {
  if (one->of->target == rank)
    MPI_Irecv(buffer, (int)one->of->bytes, MPI_BYTE, (int)one->of->source, 0, MPI_COMM_WORLD, &one->request);
  else
    MPI_Isend(buffer, (int)one->of->bytes, MPI_BYTE, (int)one->of->target, 0, MPI_COMM_WORLD, &one->request);
  one->posted = 1;
}

static void add(const message *of) {
  if (of->added > 0) smpi_execute(gamma_of_byte * (double)of->added);
}

// One step: receives first, then sends. Each sum is computed when its operand has arrived.
static void step(own *all, int64_t first, int64_t last, int64_t count) {
  for (int64_t i = first; i < last; i++)
    if (all[i].of->source != all[i].of->target && all[i].of->target == rank && !all[i].posted) post(&all[i]);
  // Receives of the next two steps are posted ahead.
  for (int64_t i = last; i < count && all[i].step <= all[first].step + 2; i++)
    if (all[i].of->target == rank && all[i].of->source != rank && !all[i].of->meets && !all[i].posted) post(&all[i]);
  for (int64_t i = first; i < last; i++)
    if (all[i].of->source == rank && all[i].of->target != rank) post(&all[i]);
  for (int64_t i = first; i < last; i++) {
    if (all[i].of->target != rank) continue;
    if (all[i].of->source != rank) MPI_Wait(&all[i].request, MPI_STATUS_IGNORE);
    add(all[i].of);
  }
  for (int64_t i = first; i < last; i++)
    if (all[i].of->source == rank && all[i].of->target != rank) MPI_Wait(&all[i].request, MPI_STATUS_IGNORE);
}

static int by_step(const void *one, const void *other) {
  const own *a = one, *b = other;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return a->of < b->of ? -1 : 1;
}

// Computes until the latest rank is here, and returns the time.
static double align(void) {
  double now = MPI_Wtime(), latest = 0;
  MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  smpi_execute(latest + alignment - MPI_Wtime());
  return MPI_Wtime();
}

static void sum_bytes(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)in, (void)inout, (void)type;
  smpi_execute(gamma_of_byte * *count);
}

static double run_own(int64_t kind, int bytes) {
  MPI_Op sum = MPI_OP_NULL;
  MPI_Op_create(sum_bytes, 1, &sum);
  const double begin = align();
  if (kind == -1)
    MPI_Bcast(buffer, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  else
    MPI_Reduce(buffer, buffer + bytes, bytes, MPI_CHAR, sum, 0, MPI_COMM_WORLD);
  const double taken = MPI_Wtime() - begin;
  MPI_Op_free(&sum);
  return taken;
}

static double run(const message *messages, int64_t count) {
  own *all = malloc(((size_t)count + 1) * sizeof *all);
  int64_t mine = 0;
  for (int64_t i = 0; i < count; i++)
    if (messages[i].source == rank || messages[i].target == rank)
      all[mine++] = (own){messages + i, messages[i].source == rank ? messages[i].source_step : messages[i].target_step,
                          0, MPI_REQUEST_NULL};
  qsort(all, (size_t)mine, sizeof *all, by_step);
  const double begin = align();
  for (int64_t first = 0, last = 0; first < mine; first = last) {
    for (last = first; last < mine && all[last].step == all[first].step;) last++;
    step(all, first, last, mine);
  }
  const double taken = MPI_Wtime() - begin;
  free(all);
  return taken;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  FILE *file = fopen(argv[1], "rb");
  int64_t number = 0, head[2];
  if (file == NULL || fread(&number, sizeof number, 1, file) != 1) return 1;
  buffer = SMPI_SHARED_MALLOC(strtoul(argv[2], NULL, 10));
  message *messages = NULL;
  for (int64_t i = 0; i < number; i++) {
    if (fread(head, sizeof head, 1, file) != 1) return 1;
    const size_t count = head[0] < 0 ? 0 : (size_t)head[0];
    // Ranks are threads of one process and share one copy.
    if (rank == 0) {
      messages = realloc(messages, count * sizeof *messages + 1);
      if (fread(messages, sizeof *messages, count, file) != count) return 1;
    } else {
      fseek(file, (long)(count * sizeof *messages), SEEK_CUR);
    }
    message *shared = messages;
    MPI_Bcast(&shared, sizeof shared, MPI_BYTE, 0, MPI_COMM_WORLD);
    const double taken = head[0] < 0 ? run_own(head[0], (int)head[1]) : run(shared, head[0]);
    double least = 0, most = 0, sum = 0;
    MPI_Reduce(&taken, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&taken, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&taken, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%lld %.12g %.12g %.12g\n", (long long)i, sum / ranks, least, most), fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  SMPI_SHARED_FREE(buffer);
  MPI_Finalize();
  return 0;
}
