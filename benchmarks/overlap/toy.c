/* A chain of cells, distributed over ranks, and an operator on it by src/hide/overlap. Ranks receive
 * neighbours' values and send contributions to neighbours. Prints for each rank a fingerprint of the result,
 * and each step's times and α. Arguments are name=value. */
#include <haloscope/overlap.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* Values of a step: seconds, alpha, waiting for the input and the output, polls, seconds of independent work,
 * and the waiting of a partner. */
enum { columns = 7 };

static double option(int argc, char **argv, const char *name, double otherwise) {
  const size_t length = strlen(name);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return atof(argv[i] + length + 1);
  return otherwise;
}

struct toy {
  size_t cells; /* the first and the last are dependent */
  int work;
  double *u, *y;                             /* u has a ghost on each side */
  double in[2][2], to[2][2], got[2], out[2]; /* left, right: values to receive and to send (and waits for the
                                                contribution from there), contributions */
  MPI_Request requests[8];                   /* input receives, sends, output receives, sends; two each */
  double next[2];                            /* ghosts of the next input, if it is consistent */
  int partitioned, consistent;
  haloscope_overlap *overlap; /* of this step, and its phase */
  int phase;
};

static double cell(const struct toy *toy, size_t i) { /* from 0; its value is u[i + 1] */
  const double *u = toy->u + i;
  double value = 2 * u[1] - u[0] - u[2];
  for (int k = 0; k < toy->work; k++) value = 0.5 * value + 0.25 * u[1];
  return 0.3 * value + u[1] * 0.1;
}

static void independent(void *context, size_t begin, size_t end) {
  struct toy *toy = context;
  for (size_t i = begin; i < end; i++) toy->y[i + 1] = cell(toy, i + 1);
}

static void dependent(void *context) {
  struct toy *toy = context;
  const size_t last = toy->cells - 1;
  toy->y[0] = cell(toy, 0);
  toy->y[last] = cell(toy, last);
  toy->out[0] = 0.01 * toy->y[0];
  toy->out[1] = 0.01 * toy->y[last];
#if MPI_VERSION >= 4
  for (int side = 0; toy->partitioned && side < 2; side++)
    if (side == 0 ? rank > 0 : rank + 1 < ranks) MPI_Pready(0, toy->requests[6 + side]);
#endif
}

static void stage(void *context, enum haloscope_overlap_stage which) {
  struct toy *toy = context;
  const size_t last = toy->cells - 1;
  /* If the input is consistent, the neighbours need the result for the next step. */
  const double *from = toy->consistent ? toy->y : toy->u + 1;
  double *ghosts[2] = {toy->consistent ? &toy->next[0] : &toy->u[0],
                       toy->consistent ? &toy->next[1] : &toy->u[last + 2]};
  switch (which) {
  case HALOSCOPE_OVERLAP_PACK_INPUT:
    toy->to[0][0] = from[0];
    toy->to[1][0] = from[last];
    for (int side = 0; side < 2; side++)
      toy->to[side][1] = haloscope_overlap_waited(toy->overlap, toy->phase, side);
    break;
  case HALOSCOPE_OVERLAP_UNPACK_INPUT:
    if (rank > 0) *ghosts[0] = toy->in[0][0];
    if (rank + 1 < ranks) *ghosts[1] = toy->in[1][0];
    for (int side = 0; side < 2; side++) /* a side without neighbour has a zero */
      haloscope_overlap_partner_waited(toy->overlap, toy->phase, toy->in[side][1]);
    break;
  case HALOSCOPE_OVERLAP_PACK_OUTPUT: /* packed by dependent() */
    break;
  case HALOSCOPE_OVERLAP_UNPACK_OUTPUT:
    if (rank > 0) toy->y[0] += toy->got[0];
    if (rank + 1 < ranks) toy->y[last] += toy->got[1];
    break;
  }
}

static void prepare(struct toy *toy, MPI_Comm input, MPI_Comm output) {
  const int neighbours[2] = {rank > 0 ? rank - 1 : MPI_PROC_NULL,
                             rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL};
  for (int side = 0; side < 2; side++) {
    const int to = neighbours[side];
    MPI_Recv_init(toy->in[side], 2, MPI_DOUBLE, to, 1 - side, input, &toy->requests[side]);
    MPI_Send_init(toy->to[side], 2, MPI_DOUBLE, to, side, input, &toy->requests[2 + side]);
#if MPI_VERSION >= 4
    if (toy->partitioned && to != MPI_PROC_NULL) { /* MPICH 4's fail with MPI_PROC_NULL */
      MPI_Precv_init(&toy->got[side], 1, 1, MPI_DOUBLE, to, 3 - side, output, MPI_INFO_NULL,
                     &toy->requests[4 + side]);
      MPI_Psend_init(&toy->out[side], 1, 1, MPI_DOUBLE, to, 2 + side, output, MPI_INFO_NULL,
                     &toy->requests[6 + side]);
      continue;
    }
#endif
    MPI_Recv_init(&toy->got[side], 1, MPI_DOUBLE, to, 3 - side, output, &toy->requests[4 + side]);
    MPI_Send_init(&toy->out[side], 1, MPI_DOUBLE, to, 2 + side, output, &toy->requests[6 + side]);
  }
}

static uint64_t fingerprint(const double *values, size_t count) {
  uint64_t hash = 14695981039346656037U;
  for (size_t i = 0; i < count; i++) {
    uint64_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    hash = (hash ^ bits) * 1099511628211U;
  }
  return hash;
}

/* Computes the next input, with ghosts if they were received. */
static void advance(struct toy *toy) {
  memcpy(toy->u + 1, toy->y, toy->cells * sizeof *toy->y);
  if (!toy->consistent) return;
  if (rank > 0) toy->u[0] = toy->next[0];
  if (rank + 1 < ranks) toy->u[toy->cells + 1] = toy->next[1];
}

/* Sets a consistent initial vector. */
static void initialise(struct toy *toy) {
  for (size_t i = 0; i < toy->cells + 2; i++)
    toy->u[i] = 1 + (double)((i + 7 * (size_t)rank + (toy->cells % 5)) % 11) / 7;
  if (rank == 0) toy->u[0] = 0;
  if (rank + 1 == ranks) toy->u[toy->cells + 1] = 0;
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  PMPI_Sendrecv(&toy->u[1], 1, MPI_DOUBLE, left, 9, &toy->u[toy->cells + 1], 1, MPI_DOUBLE, right, 9,
                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  PMPI_Sendrecv(&toy->u[toy->cells], 1, MPI_DOUBLE, right, 9, &toy->u[0], 1, MPI_DOUBLE, left, 9,
                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Only rank 0 prints, because launchers may mix lines of several ranks. */
static void print(const struct toy *toy, const double *rows, int steps) {
  const uint64_t own = fingerprint(toy->y, toy->cells);
  uint64_t *results = malloc((size_t)ranks * sizeof *results);
  double *all = malloc((size_t)ranks * (size_t)steps * columns * sizeof *all);
  PMPI_Gather(&own, 1, MPI_UINT64_T, results, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  PMPI_Gather(rows, steps * columns, MPI_DOUBLE, all, steps * columns, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int from = 0; rank == 0 && from < ranks; from++) {
    printf("%d result %016llx\n", from, (unsigned long long)results[from]);
    for (int step = 0; step < steps; step++) {
      const double *row = all + ((size_t)from * (size_t)steps + (size_t)step) * columns;
      printf("%d step %.9f %.6f %.9f %.9f %.0f %.9f %.9f\n", from, row[0], row[1], row[2], row[3], row[4],
             row[5], row[6]);
    }
  }
  free(results);
  free(all);
}

int main(int argc, char **argv) {
  /* Two regimes: input or output is late by `late` seconds; `stay`: probability to stay in a regime. */
  const double late = log(option(argc, argv, "late", 1e-3)), soon = late - log(20);
  const double stay = option(argc, argv, "stay", 0.9);
  const double start[2] = {0.5, 0.5}, transition[4] = {stay, 1 - stay, 1 - stay, stay};
  const double input[6] = {late, 0.3, 0, soon, 1, 0}, output[6] = {soon, 1, 0, late, 0.3, 0};
  const struct haloscope_overlap_regimes regimes = {
      HALOSCOPE_OVERLAP_LOGNORMAL, 2, start, transition, NULL, input, output};
  struct haloscope_overlap_settings settings = haloscope_overlap_defaults();
  struct haloscope_overlap_times times;
  haloscope_overlap *overlaps[2]; /* used alternately */
  MPI_Comm quick;
  struct toy toy;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(&toy, 0, sizeof toy);
  const int bad = (int)option(argc, argv, "bad", -1), steps = (int)option(argc, argv, "steps", 10);
  const int input_quick = (int)option(argc, argv, "quick_input", 0);
  settings.policy = (enum haloscope_overlap_policy)(int)option(argc, argv, "policy", 0);
  settings.alpha = option(argc, argv, "alpha", 0.5);
  settings.theta = option(argc, argv, "theta", 0.5);
  settings.epsilon = bad == rank ? -1 : option(argc, argv, "epsilon", 1e-4);
  settings.chunk = (size_t)option(argc, argv, "chunk", 0);
  settings.phases = (int)option(argc, argv, "phases", 1);
  settings.consistent = toy.consistent = (int)option(argc, argv, "consistent", 0);
  settings.early_sends = toy.partitioned = (int)option(argc, argv, "partitioned", 0);
  settings.partners = !toy.consistent && (int)option(argc, argv, "partners", 0);
  settings.region = "apply";
  settings.regimes = &regimes;
  toy.cells = (size_t)option(argc, argv, "cells", 100);
  toy.work = (int)option(argc, argv, "work", 0);
  toy.u = calloc(toy.cells + 2, sizeof *toy.u);
  toy.y = calloc(toy.cells + 2, sizeof *toy.y);
  for (int i = 0; i < 2; i++) {
    if (haloscope_overlap_create(&settings, toy.cells - 2, MPI_COMM_WORLD, &overlaps[i]) != MPI_SUCCESS) {
      fprintf(stderr, "%d: %s\n", rank, haloscope_overlap_error());
      MPI_Finalize();
      return 2;
    }
    settings.policy = (enum haloscope_overlap_policy)(int)option(argc, argv, "against", settings.policy);
  }
  const int turns = option(argc, argv, "against", -1) < 0 ? 1 : 2;
  /* haloscope inject does not see this communicator, so its messages have no injected latency. */
  PMPI_Comm_dup(MPI_COMM_WORLD, &quick);
  prepare(&toy, input_quick ? quick : MPI_COMM_WORLD, MPI_COMM_WORLD);
  initialise(&toy);
  const struct haloscope_overlap_pattern pattern = {&toy,
                                                    independent,
                                                    dependent,
                                                    stage,
                                                    {toy.requests, 2, toy.requests + 2, 2, NULL},
                                                    {toy.requests + 4, 2, toy.requests + 6, 2, NULL}};
  double *rows = malloc((size_t)steps * columns * sizeof *rows);
  for (int step = 0; step < steps; step++) {
    PMPI_Barrier(MPI_COMM_WORLD); /* not seen by the injector */
    const double begin = MPI_Wtime();
    toy.overlap = overlaps[step % turns];
    toy.phase = step % settings.phases;
    if (haloscope_overlap_run(toy.overlap, toy.phase, &pattern, &times) != MPI_SUCCESS)
      MPI_Abort(MPI_COMM_WORLD, 3);
    const double seconds = MPI_Wtime() - begin;
    const double work = times.input_block - times.input_wait + times.output_block - times.output_wait;
    const double row[columns] = {seconds,           times.alpha,         times.input_wait,
                                 times.output_wait, (double)times.polls, work,
                                 times.partner_wait};
    memcpy(rows + (size_t)step * columns, row, sizeof row);
    advance(&toy);
  }
  print(&toy, rows, steps);
  for (int i = 0; i < 8; i++) MPI_Request_free(&toy.requests[i]);
  MPI_Comm_free(&quick);
  for (int i = 0; i < 2; i++) haloscope_overlap_free(overlaps[i]);
  free(rows);
  free(toy.u);
  free(toy.y);
  MPI_Finalize();
  return 0;
}
