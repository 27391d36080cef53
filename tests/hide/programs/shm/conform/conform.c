/* Runs the cases: conform plain|threads|errors [only=NAME] KIND…, where KIND is the memory that messages lie
 * in. Errors are a separate run, as Open MPI 4 with CMA writes beyond the end of a receive that is too small.
 */
#include "conform.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int rank, size;
MPI_Comm comm;

static char text[1 << 16];
static size_t length;
static unsigned messages;

void note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  length += (size_t)vsnprintf(text + length, sizeof text - length, format, list);
  va_end(list);
  if (length >= sizeof text) MPI_Abort(MPI_COMM_WORLD, 9);
}

const char *class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class == MPI_SUCCESS         ? "success"
         : class == MPI_ERR_TRUNCATE  ? "truncate"
         : class == MPI_ERR_IN_STATUS ? "in status"
         : class == MPI_ERR_PENDING   ? "pending"
                                      : "another error";
}

enum { guard = 96, blocks = 4096 };
typedef enum { shared, heap, fixed } Kind;
static struct Block {
  unsigned char *data;
  size_t bytes;
  Kind kind;
} block[blocks];
static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *pass;
static unsigned obtained;
static unsigned char region[48 << 20];
static size_t region_used;

static Kind kind_of_next(void) {
  ++obtained;
  if (!strcmp(pass, "shared")) return shared;
  if (!strcmp(pass, "heap")) return heap;
  if (!strcmp(pass, "fixed")) return fixed;
  return obtained % 3 ? shared : heap; /* "mixed" */
}

static unsigned char *memory(size_t bytes, Kind kind) {
  void *data = NULL;
  if (kind == fixed) { /* static memory, most of which is reused only in the next case */
    data = region + region_used;
    region_used += (bytes + 63) & ~(size_t)63;
    if (region_used > sizeof region) MPI_Abort(MPI_COMM_WORLD, 8);
  } else if (kind == heap)
    data = malloc(bytes);
  else
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &data);
  return data;
}

void *obtain(size_t bytes) {
  pthread_mutex_lock(&blocks_mutex);
  struct Block *b = block;
  while (b->data) ++b;
  *b = (struct Block){.bytes = bytes, .kind = kind_of_next()};
  b->data = memory(bytes + guard, b->kind);
  memset(b->data, 0x5a, bytes + guard);
  pthread_mutex_unlock(&blocks_mutex);
  return b->data;
}

void release(void *data) {
  pthread_mutex_lock(&blocks_mutex);
  struct Block *b = block;
  while (b->data != data) ++b;
  for (int i = 0; i < guard; ++i)
    if (b->data[b->bytes + (size_t)i] != 0x5a) note(" WRITTEN %d BEYOND %zu", i, b->bytes), i = guard;
  if (b->kind == shared)
    MPI_Free_mem(data);
  else if (b->kind == heap)
    free(data);
  b->data = NULL;
  pthread_mutex_unlock(&blocks_mutex);
}

void fill(void *data, size_t bytes, unsigned seed) {
  uint64_t x = seed + 0x9e3779b97f4a7c15u;
  unsigned char *p = data;
  for (; bytes; bytes -= bytes < 8 ? bytes : 8, p += 8) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const uint64_t word = x ^ x >> 33;
    memcpy(p, &word, bytes < 8 ? bytes : 8);
  }
}

unsigned checksum(const void *data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u + bytes;
  const unsigned char *p = data;
  for (; bytes; bytes -= bytes < 8 ? bytes : 8, p += 8) {
    uint64_t word = 0;
    memcpy(&word, p, bytes < 8 ? bytes : 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  return (unsigned)(hash ^ hash >> 32);
}

void *message(size_t bytes) {
  void *data = obtain(bytes);
  fill(data, bytes, ++messages * 64 + (unsigned)rank);
  return data;
}

void give(int bytes, int to, int tag, MPI_Comm c) {
  void *data = message((size_t)bytes);
  MPI_Send(data, bytes, MPI_BYTE, to, tag, c);
  fill(data, (size_t)bytes, 0); /* the buffer belongs to the program again */
  release(data);
}

void told(const MPI_Status *status, const void *data) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  note(" %d,%d,%d", status->MPI_SOURCE, status->MPI_TAG, count);
  if (count > 0) note("=%08x", checksum(data, (size_t)count));
}

void take(int capacity, int from, int tag, MPI_Comm c) {
  void *data = obtain((size_t)capacity);
  MPI_Status status;
  MPI_Recv(data, capacity, MPI_BYTE, from, tag, c, &status);
  told(&status, data);
  release(data);
}

Pending giving(int bytes, int to, int tag, MPI_Comm c) {
  Pending pending = {.data = message((size_t)bytes)};
  MPI_Isend(pending.data, bytes, MPI_BYTE, to, tag, c, &pending.request);
  return pending;
}

Pending taking(int capacity, int from, int tag, MPI_Comm c) {
  Pending pending = {.data = obtain((size_t)capacity)};
  MPI_Irecv(pending.data, capacity, MPI_BYTE, from, tag, c, &pending.request);
  return pending;
}

void finish(Pending *pending) {
  MPI_Status status;
  MPI_Wait(&pending->request, &status);
  if (pending->request != MPI_REQUEST_NULL) note(" NOT FREED");
  told(&status, pending->data);
  release(pending->data);
}

void done(Pending *pending) {
  MPI_Wait(&pending->request, MPI_STATUS_IGNORE);
  if (pending->request != MPI_REQUEST_NULL) note(" NOT FREED");
  release(pending->data);
}

void idle(double seconds) {
  struct timespec time = {.tv_nsec = (long)(seconds * 1e9)};
  nanosleep(&time, NULL);
}

static void print_notes(const char *name) {
  int mine = (int)length, lengths[64];
  static char other[sizeof text];
  MPI_Gather(&mine, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank) MPI_Send(text, mine, MPI_CHAR, 0, 99, MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < size; ++r) {
    if (r) MPI_Recv(other, (int)sizeof other, MPI_CHAR, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (lengths[r]) printf("%s %s %d:%.*s\n", pass, name, r, lengths[r], r ? other : text);
  }
  length = 0;
}

static void run(const Case *cases, const char *only) {
  for (; cases->name; ++cases) {
    if (only && strcmp(only, cases->name) != 0) continue;
    if (rank == 0) fprintf(stderr, "%s %s\n", pass, cases->name); /* the last line shows where it hangs */
    region_used = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    cases->run();
    for (int i = 0; i < blocks; ++i)
      if (block[i].data) release(block[i].data);
    MPI_Comm_free(&comm);
    print_notes(cases->name);
  }
}

int main(int argc, char **argv) {
  static const Case *const plain[] = {matching,   communicators, sending, persistent,
                                      completion, probing,       types,   NULL};
  static const Case *const multiple[] = {threads, NULL}, *const wrong[] = {errors, NULL};
  const char *mode = argc > 1 ? argv[1] : "";
  const Case *const *cases = !strcmp(mode, "plain") ? plain : !strcmp(mode, "threads") ? multiple : wrong;
  int level;
  if (cases == multiple)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *only = NULL;
  for (int a = 2; a < argc; ++a) {
    if (!strncmp(argv[a], "only=", 5)) {
      only = argv[a] + 5;
      continue;
    }
    pass = argv[a];
    for (int i = 0; cases[i]; ++i) run(cases[i], only);
  }
  for (int a = 2; a < argc && cases == plain; ++a) {
    pass = argv[a];
    if (strchr(pass, '=') == NULL) run(lengths, only);
  }
  MPI_Finalize();
  if (rank == 0) puts("finished");
  return 0;
}
