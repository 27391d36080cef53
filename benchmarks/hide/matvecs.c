/* MatVecs of the overlap library with given work and latencies, on two or more ranks.
 *
 *   matvecs OUTPUT name=value … [latencies=FILE]
 *
 * Ranks form a chain. Work is sleep, so that a busy processor has no effect on the schedule. A rank gets
 * input from the lower neighbour and contributions from the upper one. Latencies are injected by `haloscope
 * inject`. If compiled with smpicc, clocks are SimGrid's, work is smpi_execute, and latencies are read from a
 * file: seconds for each rank and MatVec. OUTPUT gets both blocks, both waits and α of all MatVecs. */
#include <haloscope/overlap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;

#ifdef SMPI
#include <smpi/smpi.h>

/* These replace MPI's functions in the library. A message contains the time at which it is due. Requests are
 * persistent, so that completed ones may be tested again. */
static const MPI_Request *received[2];
static const double *due[2];

static double due_of(const MPI_Request *requests) {
  for (int i = 0; i < 2; i++)
    if (received[i] == requests) return *due[i];
  return 0;
}

int late_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  const int result = MPI_Waitall(count, requests, statuses);
  const double left = due_of(requests) - MPI_Wtime();
  if (left > 0) smpi_execute(left);
  return result;
}

int late_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  const int result = MPI_Testall(count, requests, flag, statuses);
  if (due_of(requests) > MPI_Wtime()) *flag = 0;
  return result;
}
#endif

static double option(int argc, char **argv, const char *name, double otherwise) {
  const size_t length = strlen(name);
  for (int i = 2; i < argc; i++)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return atof(argv[i] + length + 1);
  return otherwise;
}

struct chain {
  double item, mirrors;          /* seconds */
  double in, to_in, out, to_out; /* messages: seconds at which they are due, if simulated */
  double input, *latency;        /* latencies of input, and of contributions per rank and MatVec */
  int matvec, matvecs;
};

static void work(double seconds) {
#ifdef SMPI
  if (seconds > 0) smpi_execute(seconds);
#else
  const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  if (seconds > 0) nanosleep(&time, NULL);
#endif
}

static void independent(void *context, size_t begin, size_t end) {
  const struct chain *chain = context;
  work(chain->item * (double)(end - begin));
}

static void dependent(void *context) { work(((const struct chain *)context)->mirrors); }

static void stage(void *context, enum haloscope_overlap_stage which) {
  struct chain *chain = context;
  if (which == HALOSCOPE_OVERLAP_PACK_INPUT) chain->to_in = MPI_Wtime() + chain->input;
  if (which == HALOSCOPE_OVERLAP_PACK_OUTPUT && rank > 0)
    chain->to_out =
        MPI_Wtime() + chain->latency[(size_t)(rank - 1) * (size_t)chain->matvecs + (size_t)chain->matvec];
}

/* Reads seconds for each rank and MatVec; without a file all are 0. */
static void read_latencies(struct chain *chain, const char *path) {
  const size_t count = (size_t)ranks * (size_t)chain->matvecs;
  chain->latency = calloc(count, sizeof *chain->latency);
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (path && (file == NULL || fread(chain->latency, sizeof *chain->latency, count, file) != count))
    MPI_Abort(MPI_COMM_WORLD, 2);
  if (file) fclose(file);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  struct haloscope_overlap_settings settings = haloscope_overlap_defaults();
  settings.policy = (enum haloscope_overlap_policy)(int)option(argc, argv, "policy", 0);
  settings.theta = option(argc, argv, "theta", 0.5);
  settings.epsilon = option(argc, argv, "epsilon", 1e-4);
  settings.consistent = (int)option(argc, argv, "consistent", 0);
  /* Layers of elements, of which those next to neighbours are mirrors; elements per layer. */
  const double layers = option(argc, argv, "layers", 24), layer = option(argc, argv, "layer", 780);
  const int sides = (rank > 0) + (rank + 1 < ranks);
  const size_t items = (size_t)((layers - sides) * layer);
  struct chain chain = {0};
  chain.item = option(argc, argv, "item", 1e-6);
  chain.mirrors = chain.item * layer * sides;
  chain.input = option(argc, argv, "input", 0);
  chain.matvecs = (int)option(argc, argv, "matvecs", 100);
  const char *path = NULL;
  for (int i = 2; i < argc; i++)
    if (strncmp(argv[i], "latencies=", 10) == 0) path = argv[i] + 10;
  read_latencies(&chain, path);
  haloscope_overlap *overlap;
  if (haloscope_overlap_create(&settings, items, MPI_COMM_WORLD, &overlap) != MPI_SUCCESS) {
    fprintf(stderr, "matvecs: %s\n", haloscope_overlap_error());
    MPI_Finalize();
    return 2;
  }
  const int lower = rank > 0 ? rank - 1 : MPI_PROC_NULL, upper = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Request requests[4];
  MPI_Recv_init(&chain.in, 1, MPI_DOUBLE, lower, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&chain.to_in, 1, MPI_DOUBLE, upper, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(&chain.out, 1, MPI_DOUBLE, upper, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Send_init(&chain.to_out, 1, MPI_DOUBLE, lower, 1, MPI_COMM_WORLD, &requests[3]);
#ifdef SMPI
  received[0] = &requests[0], due[0] = &chain.in;
  received[1] = &requests[2], due[1] = &chain.out;
#endif
  const struct haloscope_overlap_pattern pattern = {&chain,
                                                    independent,
                                                    dependent,
                                                    stage,
                                                    {&requests[0], 1, &requests[1], 1, NULL},
                                                    {&requests[2], 1, &requests[3], 1, NULL}};
  double *rows = calloc((size_t)chain.matvecs * 5, sizeof *rows);
  for (chain.matvec = 0; chain.matvec < chain.matvecs; chain.matvec++) {
    struct haloscope_overlap_times times;
    PMPI_Barrier(MPI_COMM_WORLD); /* not seen by the injector */
    if (haloscope_overlap_run(overlap, 0, &pattern, &times) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
    const double row[5] = {times.input_block, times.output_block, times.input_wait, times.output_wait,
                           times.alpha};
    memcpy(rows + (size_t)chain.matvec * 5, row, sizeof row);
  }
  double *all = calloc((size_t)ranks * (size_t)chain.matvecs * 5, sizeof *all);
  PMPI_Gather(rows, chain.matvecs * 5, MPI_DOUBLE, all, chain.matvecs * 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  FILE *file = rank == 0 ? fopen(argv[1], "wb") : NULL;
  if (file) {
    fwrite(all, sizeof *all * 5, (size_t)ranks * (size_t)chain.matvecs, file);
    fclose(file);
  }
  for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
  haloscope_overlap_free(overlap);
  free(rows);
  free(all);
  free(chain.latency);
  MPI_Finalize();
  return 0;
}
