// Counts each rank's sends in hypre's exchanges while it solves, per level, from hypre's own lists of
// partners. Preloaded before a program, it writes a line of JSON per rank, level and place. It reads no
// message and wraps no function of MPI.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>

enum { most_packages = 256, most_levels = 64, most_ranks = 1024 };

struct count {
  long exchanges, sends, bytes, most_bytes;
  char to[most_ranks];
};
// In BoomerAMG's cycle, and outside of it: there, products with the matrix that is solved.
static struct {
  hypre_ParCSRCommPkg *package;
  struct count count[2];
} seen[most_packages];
static int used, is_set_up, in_cycle;

#define NEXT(type, name)                                                                                     \
  static type *next;                                                                                         \
  if (next == NULL) next = (type *)dlsym(RTLD_NEXT, name)

static void add(struct count *count, int partners, const HYPRE_Int *ranks, const HYPRE_Int *starts,
                long size) {
  const long bytes = (starts[partners] - starts[0]) * size;
  count->exchanges++;
  count->sends += partners;
  count->bytes += bytes;
  if (bytes > count->most_bytes) count->most_bytes = bytes;
  for (int i = 0; i < partners; i++) count->to[ranks[i]] = 1;
}

static void note(hypre_ParCSRCommPkg *package, int job) {
  int i = 0;
  while (i < used && seen[i].package != package) i++;
  if (i == most_packages) abort();
  if (i == used) seen[used++].package = package;
  struct count *count = &seen[i].count[in_cycle];
  const long size = job < 10 ? sizeof(HYPRE_Complex) : job < 20 ? sizeof(HYPRE_Int) : sizeof(HYPRE_BigInt);
  if (job % 2 == 1)
    add(count, hypre_ParCSRCommPkgNumSends(package), hypre_ParCSRCommPkgSendProcs(package),
        hypre_ParCSRCommPkgSendMapStarts(package), size);
  else // back, as in products with the transposed
    add(count, hypre_ParCSRCommPkgNumRecvs(package), hypre_ParCSRCommPkgRecvProcs(package),
        hypre_ParCSRCommPkgRecvVecStarts(package), size);
}

static void merge(struct count *into, const struct count *from) {
  into->exchanges += from->exchanges;
  into->sends += from->sends;
  into->bytes += from->bytes;
  if (from->most_bytes > into->most_bytes) into->most_bytes = from->most_bytes;
  for (int rank = 0; rank < most_ranks; rank++) into->to[rank] |= from->to[rank];
}

static int level_of(hypre_ParAMGData *solver, const hypre_ParCSRCommPkg *package) {
  const int levels = hypre_ParAMGDataNumLevels(solver);
  for (int level = 0; level < levels; level++) {
    if (hypre_ParCSRMatrixCommPkg(hypre_ParAMGDataAArray(solver)[level]) == package) return level;
    if (level + 1 < levels && hypre_ParCSRMatrixCommPkg(hypre_ParAMGDataPArray(solver)[level]) == package)
      return level;
  }
  return -1;
}

static void write_counts(hypre_ParAMGData *solver) {
  static struct count levels[most_levels][2];
  for (int i = 0; i < used; i++) {
    const int level = level_of(solver, seen[i].package);
    if (level < 0) abort();
    for (int place = 0; place < 2; place++) merge(&levels[level][place], &seen[i].count[place]);
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int file = open(getenv("EXCHANGES_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  for (int level = 0; level < hypre_ParAMGDataNumLevels(solver); level++)
    for (int place = 0; place < 2; place++) {
      const struct count *c = &levels[level][place];
      int partners = 0;
      for (int other = 0; other < most_ranks; other++) partners += c->to[other];
      if (c->exchanges > 0)
        dprintf(file,
                "{\"rank\": %d, \"level\": %d, \"in_cycle\": %d, \"instances\": %ld, \"sends\": %ld, "
                "\"bytes_sent\": %ld, \"bytes_sent_instance_max\": %ld, \"dest_ranks\": %d}\n",
                rank, level, place, c->exchanges, c->sends, c->bytes, c->most_bytes, partners);
    }
  close(file);
}

// NOLINTBEGIN(readability-identifier-naming)
typedef hypre_ParCSRCommHandle *Create(HYPRE_Int, hypre_ParCSRCommPkg *, HYPRE_MemoryLocation, void *,
                                       HYPRE_MemoryLocation, void *);
hypre_ParCSRCommHandle *hypre_ParCSRCommHandleCreate_v2(HYPRE_Int job, hypre_ParCSRCommPkg *package,
                                                        HYPRE_MemoryLocation from, void *send,
                                                        HYPRE_MemoryLocation to, void *receive) {
  NEXT(Create, "hypre_ParCSRCommHandleCreate_v2");
  if (is_set_up) note(package, job);
  return next(job, package, from, send, to, receive);
}

typedef HYPRE_Int Step(void *, hypre_ParCSRMatrix *, hypre_ParVector *, hypre_ParVector *);
HYPRE_Int hypre_BoomerAMGSetup(void *solver, hypre_ParCSRMatrix *A, hypre_ParVector *b, hypre_ParVector *x) {
  NEXT(Step, "hypre_BoomerAMGSetup");
  const HYPRE_Int error = next(solver, A, b, x);
  is_set_up = 1;
  return error;
}

HYPRE_Int hypre_BoomerAMGSolve(void *solver, hypre_ParCSRMatrix *A, hypre_ParVector *b, hypre_ParVector *x) {
  NEXT(Step, "hypre_BoomerAMGSolve");
  in_cycle = 1;
  const HYPRE_Int error = next(solver, A, b, x);
  in_cycle = 0;
  return error;
}

typedef HYPRE_Int Destroy(void *);
HYPRE_Int hypre_BoomerAMGDestroy(void *solver) {
  NEXT(Destroy, "hypre_BoomerAMGDestroy");
  is_set_up = 0;
  write_counts((hypre_ParAMGData *)solver);
  return next(solver);
}
// NOLINTEND(readability-identifier-naming)
