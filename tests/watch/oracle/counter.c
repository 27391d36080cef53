// Counts each rank's sends independently, to check the recorder. Built by the MPI's own compiler wrapper
// and preloaded:
//   mpicc -shared -fPIC -O2 counter.c -o counter.so
//   mpiexec -n 4 env LD_PRELOAD=$PWD/counter.so COUNTER_FILE=counts.json ./program
// At MPI_Finalize each rank appends one line of JSON to COUNTER_FILE:
//   {"rank", "sends", "bytes", "sizes": {size: messages}, "partners": {rank: [messages, bytes]},
//    "collectives": {name: [calls, bytes]}}
// Ranks are those of MPI_COMM_WORLD. C (and so C++) programs; one thread at a time. Not counted: Alltoallw,
// neighbourhood collectives, one-sided operations.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  long long key, messages, bytes;
} Entry; // of a table that grows as keys appear
typedef struct {
  Entry *entries;
  int used, room;
} Table;
typedef struct {
  MPI_Request request;
  int partner;
  long long bytes;
} Persistent;
static Table sizes, partners;
static Persistent *persistent;
static int persistents;
static struct {
  const char *name;
  long long calls, bytes;
} collectives[64];
static long long sends, total;

static void add(Table *t, long long key, long long bytes) {
  int i = 0;
  while (i < t->used && t->entries[i].key != key) i++;
  if (i == t->room) t->entries = realloc(t->entries, (t->room = 2 * t->room + 64) * sizeof(Entry));
  if (i == t->used) t->entries[t->used++] = (Entry){key, 0, 0};
  t->entries[i].messages++, t->entries[i].bytes += bytes;
}
static long long size_of(MPI_Datatype type) {
  int n = 0;
  PMPI_Type_size(type, &n);
  return n;
}
static int ranks_of(MPI_Comm c) {
  int n;
  PMPI_Comm_size(c, &n);
  return n;
}
static int rank_in(MPI_Comm c) {
  int r;
  PMPI_Comm_rank(c, &r);
  return r;
}
static int world_rank(int rank, MPI_Comm comm) {
  MPI_Group group, world;
  int inter, result;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter)
    PMPI_Comm_remote_group(comm, &group);
  else
    PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, 1, &rank, world, &result);
  PMPI_Group_free(&group), PMPI_Group_free(&world);
  return result;
}
static void sent(int partner, long long bytes) {
  sends++, total += bytes;
  add(&sizes, bytes, bytes), add(&partners, partner, bytes);
}
static void remember(MPI_Request request, int partner, long long bytes) {
  persistent = realloc(persistent, (persistents + 1) * sizeof *persistent);
  persistent[persistents++] = (Persistent){request, partner, bytes};
}
static void started(MPI_Request request) { // a persistent receive is not in the list
  for (int i = 0; i < persistents; i++)
    if (persistent[i].request == request) sent(persistent[i].partner, persistent[i].bytes);
}
static void collective(const char *name, long long bytes) {
  int i = 0;
  while (collectives[i].name && strcmp(collectives[i].name, name)) i++;
  collectives[i].name = name, collectives[i].calls++, collectives[i].bytes += bytes;
}
static long long sum(const int *counts, MPI_Comm c) {
  long long s = 0;
  for (int i = 0; i < ranks_of(c); i++) s += counts[i];
  return s;
}
static inline long long sum_c(const MPI_Count *counts, MPI_Comm c) {
  long long s = 0;
  for (int i = 0; i < ranks_of(c); i++) s += counts[i];
  return s;
}

// clang-format off: one line a function
#define P2P const void *b, C n, MPI_Datatype t, int d, int g
#define COUNT if (d != MPI_PROC_NULL) sent(world_rank(d, c), n * size_of(t))
#define SEND(X) int MPI_##X(P2P, MPI_Comm c) { COUNT; return PMPI_##X(b, n, t, d, g, c); }
#define ISEND(X) int MPI_##X(P2P, MPI_Comm c, MPI_Request *r) { COUNT; return PMPI_##X(b, n, t, d, g, c, r); }
#define INIT(X) int MPI_##X(P2P, MPI_Comm c, MPI_Request *r) { \
  int e = PMPI_##X(b, n, t, d, g, c, r); \
  if (d != MPI_PROC_NULL) remember(*r, world_rank(d, c), n * size_of(t)); \
  return e; }
#define P2P_ALL(_) \
  SEND(Send##_) SEND(Bsend##_) SEND(Ssend##_) SEND(Rsend##_) \
  ISEND(Isend##_) ISEND(Ibsend##_) ISEND(Issend##_) ISEND(Irsend##_) \
  INIT(Send_init##_) INIT(Bsend_init##_) INIT(Ssend_init##_) INIT(Rsend_init##_) \
  int MPI_Sendrecv##_(P2P, void *r, C m, MPI_Datatype u, int s, int h, MPI_Comm c, MPI_Status *st) \
  { COUNT; return PMPI_Sendrecv##_(b, n, t, d, g, r, m, u, s, h, c, st); } \
  int MPI_Sendrecv_replace##_(void *b, C n, MPI_Datatype t, int d, int g, int s, int h, MPI_Comm c, MPI_Status *st) \
  { COUNT; return PMPI_Sendrecv_replace##_(b, n, t, d, g, s, h, c, st); }

// Bytes of a collective: a rank's own send argument; where it is one part a rank, all parts.
#define ARGS(...) __VA_ARGS__
#define BOTH(X, IX, _, BYTES, PARAMETERS, ...) \
  int MPI_##X##_(PARAMETERS, MPI_Comm c) { collective(#X, BYTES); return PMPI_##X##_(__VA_ARGS__, c); } \
  int MPI_##IX##_(PARAMETERS, MPI_Comm c, MPI_Request *q) \
  { collective(#IX, BYTES); return PMPI_##IX##_(__VA_ARGS__, c, q); }
#define TWO const void *s, C n, MPI_Datatype t, void *r, C m, MPI_Datatype u
#define TWOV const void *s, C n, MPI_Datatype t, void *r, const C *ms, const D *at, MPI_Datatype u
#define REDUCE const void *s, void *r, C n, MPI_Datatype t, MPI_Op o
#define OWN (s == MPI_IN_PLACE ? m * size_of(u) : n * size_of(t))
#define OWNV (s == MPI_IN_PLACE ? ms[rank_in(c)] * size_of(u) : n * size_of(t))
#define COLLECTIVE_ALL(_) \
  BOTH(Bcast, Ibcast, _, n * size_of(t), ARGS(void *b, C n, MPI_Datatype t, int root), b, n, t, root) \
  BOTH(Reduce, Ireduce, _, n * size_of(t), ARGS(REDUCE, int root), s, r, n, t, o, root) \
  BOTH(Allreduce, Iallreduce, _, n * size_of(t), ARGS(REDUCE), s, r, n, t, o) \
  BOTH(Scan, Iscan, _, n * size_of(t), ARGS(REDUCE), s, r, n, t, o) \
  BOTH(Exscan, Iexscan, _, n * size_of(t), ARGS(REDUCE), s, r, n, t, o) \
  BOTH(Reduce_scatter_block, Ireduce_scatter_block, _, ranks_of(c) * n * size_of(t), ARGS(REDUCE), s, r, n, t, o) \
  BOTH(Reduce_scatter, Ireduce_scatter, _, sum##_(ns, c) * size_of(t), \
       ARGS(const void *s, void *r, const C *ns, MPI_Datatype t, MPI_Op o), s, r, ns, t, o) \
  BOTH(Gather, Igather, _, OWN, ARGS(TWO, int root), s, n, t, r, m, u, root) \
  BOTH(Allgather, Iallgather, _, OWN, ARGS(TWO), s, n, t, r, m, u) \
  BOTH(Gatherv, Igatherv, _, OWNV, ARGS(TWOV, int root), s, n, t, r, ms, at, u, root) \
  BOTH(Allgatherv, Iallgatherv, _, OWNV, ARGS(TWOV), s, n, t, r, ms, at, u) \
  BOTH(Alltoall, Ialltoall, _, ranks_of(c) * OWN, ARGS(TWO), s, n, t, r, m, u) \
  BOTH(Alltoallv, Ialltoallv, _, s == MPI_IN_PLACE ? sum##_(ms, c) * size_of(u) : sum##_(ns, c) * size_of(t), \
       ARGS(const void *s, const C *ns, const D *a, MPI_Datatype t, void *r, const C *ms, const D *b, MPI_Datatype u), \
       s, ns, a, t, r, ms, b, u) \
  BOTH(Scatter, Iscatter, _, rank_in(c) == root ? ranks_of(c) * n * size_of(t) : 0, ARGS(TWO, int root), \
       s, n, t, r, m, u, root) \
  BOTH(Scatterv, Iscatterv, _, rank_in(c) == root ? sum##_(ns, c) * size_of(t) : 0, \
       ARGS(const void *s, const C *ns, const D *at, MPI_Datatype t, void *r, C m, MPI_Datatype u, int root), \
       s, ns, at, t, r, m, u, root)

#define C int
#define D int
P2P_ALL() COLLECTIVE_ALL()
#if MPI_VERSION >= 4
#undef C
#undef D
#define C MPI_Count
#define D MPI_Aint
P2P_ALL(_c) COLLECTIVE_ALL(_c)
#endif
    // clang-format on

    int MPI_Barrier(MPI_Comm c) {
  collective("Barrier", 0);
  return PMPI_Barrier(c);
}
int MPI_Ibarrier(MPI_Comm c, MPI_Request *q) {
  collective("Ibarrier", 0);
  return PMPI_Ibarrier(c, q);
}
int MPI_Start(MPI_Request *r) {
  started(*r);
  return PMPI_Start(r);
}
int MPI_Startall(int n, MPI_Request r[]) {
  for (int i = 0; i < n; i++) started(r[i]);
  return PMPI_Startall(n, r);
}
int MPI_Request_free(MPI_Request *r) {
  for (int i = 0; i < persistents; i++)
    if (persistent[i].request == *r) persistent[i--] = persistent[--persistents];
  return PMPI_Request_free(r);
}

int MPI_Finalize(void) {
  int rank = rank_in(MPI_COMM_WORLD);
  char *text;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  fprintf(out, "{\"rank\": %d, \"sends\": %lld, \"bytes\": %lld, \"sizes\": {", rank, sends, total);
  for (Entry *e = sizes.entries; e < sizes.entries + sizes.used; e++)
    fprintf(out, "%s\"%lld\": %lld", e > sizes.entries ? ", " : "", e->key, e->messages);
  fprintf(out, "}, \"partners\": {");
  for (Entry *e = partners.entries; e < partners.entries + partners.used; e++)
    fprintf(out, "%s\"%lld\": [%lld, %lld]", e > partners.entries ? ", " : "", e->key, e->messages, e->bytes);
  fprintf(out, "}, \"collectives\": {");
  for (int i = 0; collectives[i].name; i++)
    fprintf(out, "%s\"%s\": [%lld, %lld]", i ? ", " : "", collectives[i].name, collectives[i].calls,
            collectives[i].bytes);
  fprintf(out, "}}\n");
  fclose(out);
  const char *path = getenv("COUNTER_FILE");
  int file = open(path ? path : "counts.json", O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, text, length) != (ssize_t)length)
    perror("counter"); // one write: lines stay whole
  if (file >= 0) close(file);
  return PMPI_Finalize();
}
