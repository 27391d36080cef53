// The minimum cost of timing every call: a stamp before and after it.
#include <mpi.h>

#if defined(__x86_64__)
static inline unsigned long long stamp(void) { return __builtin_ia32_rdtsc(); }
#else
static inline unsigned long long stamp(void) {
  unsigned long long ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#endif

static unsigned long long ticks;

#define TIMED(call)                                                                                          \
  const unsigned long long begin = stamp();                                                                  \
  const int result = call;                                                                                   \
  ticks += stamp() - begin;                                                                                  \
  return result;

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  TIMED(PMPI_Send(data, count, type, to, tag, comm))
}
int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
  TIMED(PMPI_Recv(data, count, type, from, tag, comm, status))
}
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  TIMED(PMPI_Isend(data, count, type, to, tag, comm, request))
}
int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
  TIMED(PMPI_Irecv(data, count, type, from, tag, comm, request))
}
int MPI_Wait(MPI_Request *request, MPI_Status *status) { TIMED(PMPI_Wait(request, status)) }
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  TIMED(PMPI_Waitall(count, requests, statuses))
}
int MPI_Allreduce(const void *data, void *sum, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  TIMED(PMPI_Allreduce(data, sum, count, type, op, comm))
}
