// Two solves with hypre's BoomerAMG, and which exchanges are of which level by hypre's own records. What this
// program counts, the recorder sees next.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>

enum { most = 4096, most_levels = 32 };
static struct {
  void *package;
  long exchanges;
} seen[most];
static int used, counting;

typedef hypre_ParCSRCommHandle *Create(HYPRE_Int, hypre_ParCSRCommPkg *, HYPRE_MemoryLocation, void *,
                                       HYPRE_MemoryLocation, void *);

static void count(void *package) {
  int i = 0;
  while (i < used && seen[i].package != package) i++;
  if (i == most) return;
  if (i == used) seen[used++].package = package;
  seen[i].exchanges++;
}

// NOLINTNEXTLINE(readability-identifier-naming)
hypre_ParCSRCommHandle *hypre_ParCSRCommHandleCreate_v2(HYPRE_Int job, hypre_ParCSRCommPkg *package,
                                                        HYPRE_MemoryLocation from, void *send,
                                                        HYPRE_MemoryLocation to, void *receive) {
  static Create *next;
  if (next == NULL) next = (Create *)dlsym(RTLD_NEXT, "hypre_ParCSRCommHandleCreate_v2");
  if (counting) count(package);
  return next(job, package, from, send, to, receive);
}

static HYPRE_IJMatrix laplace(int n, int low, int high) {
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  for (int i = low; i <= high; i++) {
    int columns[5], entries = 1;
    double values[5] = {4, -1, -1, -1, -1};
    columns[0] = i;
    if (i % n != 0) columns[entries++] = i - 1;
    if ((i + 1) % n != 0) columns[entries++] = i + 1;
    if (i >= n) columns[entries++] = i - n;
    if (i + n < n * n) columns[entries++] = i + n;
    HYPRE_IJMatrixSetValues(matrix, 1, &entries, &i, columns, values);
  }
  HYPRE_IJMatrixAssemble(matrix);
  return matrix;
}

static HYPRE_IJVector vector(int low, int high, double value) {
  HYPRE_IJVector made;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, &made);
  HYPRE_IJVectorSetObjectType(made, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(made);
  for (int i = low; i <= high; i++) HYPRE_IJVectorSetValues(made, 1, &i, &value);
  HYPRE_IJVectorAssemble(made);
  return made;
}

// By which the recorder reads what hypre has.
static long reads;
ssize_t process_vm_readv(pid_t process, const struct iovec *to, unsigned long pieces,
                         const struct iovec *from, unsigned long areas, unsigned long flags) {
  reads++;
  return syscall(SYS_process_vm_readv, process, to, pieces, from, areas, flags);
}

// Exchanges of a matrix that no solver has.
static void multiply(HYPRE_IJMatrix matrix, HYPRE_ParVector b, HYPRE_ParVector x, int times) {
  HYPRE_ParCSRMatrix A;
  HYPRE_IJMatrixGetObject(matrix, (void **)&A);
  for (int i = 0; i < times; i++) HYPRE_ParCSRMatrixMatvec(1, A, b, 0, x);
}

static int level_of(hypre_ParAMGData *solver, int levels, void *package) {
  for (int level = 0; level < levels; level++) {
    if (hypre_ParCSRMatrixCommPkg(hypre_ParAMGDataAArray(solver)[level]) == package) return level;
    if (level + 1 < levels && hypre_ParCSRMatrixCommPkg(hypre_ParAMGDataPArray(solver)[level]) == package)
      return level;
  }
  return -1;
}

int main(int argc, char **argv) {
  int rank, size;
  const int n = 40;
  long exchanges[most_levels] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  HYPRE_Init();
  const int low = n * n * rank / size, high = n * n * (rank + 1) / size - 1;
  HYPRE_IJMatrix matrix = laplace(n, low, high), alone = laplace(n, low, high);
  HYPRE_IJVector right = vector(low, high, 1), unknowns = vector(low, high, 0);
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(matrix, (void **)&A);
  HYPRE_IJVectorGetObject(right, (void **)&b);
  HYPRE_IJVectorGetObject(unknowns, (void **)&x);
  for (int turn = 0; turn < 2; turn++) {
    HYPRE_Solver solver;
    HYPRE_BoomerAMGCreate(&solver);
    HYPRE_BoomerAMGSetMaxIter(solver, 5 + turn);
    if (turn == 1) HYPRE_BoomerAMGSetRelaxType(solver, 0);
    HYPRE_BoomerAMGSetup(solver, A, b, x);
    used = 0;
    counting = 1;
    HYPRE_BoomerAMGSolve(solver, A, b, x);
    counting = 0;
    for (int i = 0; i < used; i++) {
      hypre_ParAMGData *data = (hypre_ParAMGData *)solver;
      const int level = level_of(data, hypre_ParAMGDataNumLevels(data), seen[i].package);
      if (level < 0) return 3;
      exchanges[level] += seen[i].exchanges;
      seen[i].exchanges = 0;
    }
    multiply(alone, b, x, 1);
    const long before = reads;
    multiply(alone, b, x, 100);
    if (rank == 0) printf("reads %d: %ld\nreads alone %d: %ld\n", turn, before, turn, reads - before);
    HYPRE_BoomerAMGDestroy(solver);
  }
  for (int level = 0; rank == 0 && level < most_levels; level++)
    if (exchanges[level] != 0) printf("level %d: %ld\n", level, exchanges[level]);
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_IJMatrixDestroy(alone);
  HYPRE_IJVectorDestroy(right);
  HYPRE_IJVectorDestroy(unknowns);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
