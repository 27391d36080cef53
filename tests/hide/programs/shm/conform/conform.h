/* Shared by the cases of MPI's rules for messages. All ranks call the function of a case. Its notes are a
 * line per rank, which must not depend on the way of the messages. */
#pragma once
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes around the smallest that the shm library handles, 32 KiB. */
enum { small = 1000, least = 32768, large = 100000, larger = 300001, huge = 1 << 20 };

typedef struct {
  const char *name;
  void (*run)(void);
} Case;
extern const Case matching[], communicators[], sending[], persistent[], completion[], probing[], errors[],
    types[], threads[], lengths[];

extern int rank, size;
extern MPI_Comm comm; /* the case's own; errors return */

void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *class_of(int error);

/* Memory of the kind of this pass. It is released at the end of the case at the latest. The release checks
 * that no byte beyond its end was written. */
void *obtain(size_t bytes);
void release(void *data);

void fill(void *data, size_t bytes, unsigned seed);
void *message(size_t bytes); /* contents that no other message of this rank has */
unsigned checksum(const void *data, size_t bytes);

/* Blocking: `take` notes the received message, in memory of at least that capacity. */
void give(int bytes, int to, int tag, MPI_Comm c);
void take(int capacity, int from, int tag, MPI_Comm c);
void told(const MPI_Status *status, const void *data); /* notes source, tag, count, checksum of bytes */

typedef struct {
  MPI_Request request;
  void *data;
} Pending;
Pending giving(int bytes, int to, int tag, MPI_Comm c);
Pending taking(int capacity, int from, int tag, MPI_Comm c);
void finish(Pending *pending); /* MPI_Wait and told */
void done(Pending *pending);   /* MPI_Wait for a send */
void idle(double seconds);     /* outside of MPI */
