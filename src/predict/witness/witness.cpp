/* Linked into a program, reports the algorithms of Open MPI that did its collectives.
 *
 * Open MPI's component `tuned` calls its algorithms, ompi_coll_base_<collective>_intra_<algorithm>, through
 * the dynamic linker. Here is a function of each such name, which the linker finds before the library's. The
 * names are from the library's own symbol table (algorithms.h, made when this is compiled). MPI_Finalize
 * writes the algorithms of the program's calls to $HALOSCOPE_WITNESS/<rank>:
 *
 *     collective ranks bytes algorithm segment fanout calls
 *
 * with bytes as `tuned` counts them. A call that reached no algorithm of `tuned` has the algorithm "-": a
 * different component did it. */
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace {

constexpr int arguments = 12;
constexpr int capacity = 4096;

struct Row {
  const char *collective, *algorithm;
  int ranks;
  long long bytes, segment, fanout, calls;
};

Row rows[capacity];
int used = 0;
std::mutex lock;

/* The call of the program's that this thread is in. */
struct Call {
  const char *collective;
  MPI_Comm communicator;
  long long bytes;
  bool met;
  int depth;
};
thread_local Call call{};

bool same(const Row &a, const Row &b) {
  return a.collective == b.collective && std::strcmp(a.algorithm, b.algorithm) == 0 && a.ranks == b.ranks &&
         a.bytes == b.bytes && a.segment == b.segment && a.fanout == b.fanout;
}

void note(const char *algorithm, long segment, long fanout) {
  int ranks = 0;
  PMPI_Comm_size(call.communicator, &ranks);
  Row const row{call.collective, algorithm, ranks, call.bytes, segment, fanout, 0};
  std::lock_guard const guard(lock);
  int i = 0;
  while (i < used && !same(rows[i], row)) ++i;
  if (i == capacity) return;
  if (i == used) rows[used++] = row;
  ++rows[i].calls;
}

/* All arguments are integers and pointers: one that a function does not have is not looked at. */
using Function = int (*)(long, long, long, long, long, long, long, long, long, long, long, long);

int step(Function &real, const char *symbol, const char *algorithm, const long *a, int communicator,
         int segment, int fanout) {
  if (real == nullptr) real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol));
  /* Another communicator's is a part of a hierarchical collective; a deeper one is a part as well. */
  if (call.collective && call.depth == 0 && a[communicator] == reinterpret_cast<long>(call.communicator)) {
    call.met = true;
    note(algorithm, segment ? static_cast<unsigned>(a[segment]) : 0,
         fanout ? static_cast<int>(a[fanout]) : 0);
  }
  ++call.depth;
  int const status = real(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
  --call.depth;
  return status;
}

long long size_of(MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return size;
}

int ranks_of(MPI_Comm communicator) {
  int ranks = 0;
  PMPI_Comm_size(communicator, &ranks);
  return ranks;
}

bool is_root(int root, MPI_Comm communicator) {
  int rank = -1;
  PMPI_Comm_rank(communicator, &rank);
  return rank == root;
}

long long sum(const int *counts, MPI_Comm communicator) {
  long long total = 0;
  for (int i = 0, n = ranks_of(communicator); i < n; ++i) total += counts[i];
  return total;
}

} // namespace

extern "C" {

/* ALGORITHM(symbol, algorithm, place of the communicator, of the segment size, of the fan-out) */
#define ALGORITHM(symbol, algorithm, communicator, segment, fanout)                                          \
  int symbol(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,         \
             long l) {                                                                                       \
    static Function real = nullptr;                                                                          \
    long const all[arguments] = {a, b, c, d, e, f, g, h, i, j, k, l};                                        \
    return step(real, #symbol, algorithm, all, communicator, segment, fanout);                               \
  }
#if __has_include("algorithms.h") // made of the library when this is compiled for it
#include "algorithms.h"
#endif

/* COLLECTIVE(function, name in rules, parameters, arguments, bytes) */
#define COLLECTIVE(function, name, parameters, values, size)                                                 \
  int MPI_##function parameters {                                                                            \
    call.collective = name;                                                                                  \
    call.communicator = comm;                                                                                \
    call.bytes = size;                                                                                       \
    call.met = false;                                                                                        \
    int const status = PMPI_##function values;                                                               \
    if (!call.met) note("-", 0, 0);                                                                          \
    call.collective = nullptr;                                                                               \
    return status;                                                                                           \
  }

#define SEND const void *sbuf, int scount, MPI_Datatype stype
#define RECV void *rbuf, int rcount, MPI_Datatype rtype
#define SENT sbuf == MPI_IN_PLACE ? size_of(rtype) * rcount : size_of(stype) * scount

COLLECTIVE(Bcast, "bcast", (void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm),
           (buf, n, type, root, comm), size_of(type) * n)
COLLECTIVE(Reduce, "reduce",
           (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           (sbuf, rbuf, n, type, op, root, comm), size_of(type) * n)
COLLECTIVE(Allreduce, "allreduce",
           (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (sbuf, rbuf, n, type, op, comm), size_of(type) * n)
COLLECTIVE(Scan, "scan", (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (sbuf, rbuf, n, type, op, comm), size_of(type) * n)
COLLECTIVE(Exscan, "exscan",
           (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (sbuf, rbuf, n, type, op, comm), size_of(type) * n)
COLLECTIVE(Reduce_scatter, "reduce_scatter",
           (const void *sbuf, void *rbuf, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (sbuf, rbuf, counts, type, op, comm), size_of(type) * sum(counts, comm))
COLLECTIVE(Reduce_scatter_block, "reduce_scatter_block",
           (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (sbuf, rbuf, n, type, op, comm), size_of(type) * n * ranks_of(comm))
COLLECTIVE(Allgather, "allgather", (SEND, RECV, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, comm), (SENT)*ranks_of(comm))
COLLECTIVE(Alltoall, "alltoall", (SEND, RECV, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, comm), (SENT)*ranks_of(comm))
COLLECTIVE(Gather, "gather", (SEND, RECV, int root, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, root, comm),
           (is_root(root, comm) ? size_of(rtype) * rcount : size_of(stype) * scount) * ranks_of(comm))
COLLECTIVE(Scatter, "scatter", (SEND, RECV, int root, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, root, comm),
           (is_root(root, comm) ? size_of(stype) * scount : size_of(rtype) * rcount) * ranks_of(comm))
COLLECTIVE(Allgatherv, "allgatherv",
           (SEND, void *rbuf, const int *counts, const int *places, MPI_Datatype rtype, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, counts, places, rtype, comm),
           size_of(rtype) * sum(counts, comm) / ranks_of(comm))
COLLECTIVE(Alltoallv, "alltoallv",
           (const void *sbuf, const int *scounts, const int *splaces, MPI_Datatype stype, void *rbuf,
            const int *rcounts, const int *rplaces, MPI_Datatype rtype, MPI_Comm comm),
           (sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype, comm), 0)
COLLECTIVE(Barrier, "barrier", (MPI_Comm comm), (comm), 0)

int MPI_Finalize(void) {
  const char *const directory = std::getenv("HALOSCOPE_WITNESS"); // NOLINT(concurrency-mt-unsafe)
  char path[4096];
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (directory &&
      std::snprintf(path, sizeof path, "%s/%d", directory, rank) < static_cast<int>(sizeof path)) {
    std::FILE *const file = std::fopen(path, "w");
    for (int i = 0; file && i < used; ++i)
      std::fprintf(file, "%s %d %lld %s %lld %lld %lld\n", rows[i].collective, rows[i].ranks, rows[i].bytes,
                   rows[i].algorithm, rows[i].segment, rows[i].fanout, rows[i].calls);
    if (file) std::fclose(file);
  }
  return PMPI_Finalize();
}

} // extern "C"
