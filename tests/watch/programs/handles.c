// A library between the recorder and MPI. It informs ThreadSanitizer about the order in MPI, which is
// compiled without it: a handle is reused only after its release.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

void __tsan_acquire(void *);
void __tsan_release(void *);

#define REAL(name, ...)                                                                                      \
  static int (*real)(__VA_ARGS__);                                                                           \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

static void *of(MPI_Request request) { return (void *)(uintptr_t)request; }

int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r) {
  REAL("PMPI_Isend", const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int error = real(b, n, t, to, tag, c, r);
  __tsan_acquire(of(*r));
  return error;
}

int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r) {
  REAL("PMPI_Irecv", void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int error = real(b, n, t, from, tag, c, r);
  __tsan_acquire(of(*r));
  return error;
}

int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) {
  REAL("PMPI_Waitall", int, MPI_Request *, MPI_Status *);
  for (int i = 0; i < n; i++) __tsan_release(of(r[i]));
  return real(n, r, s);
}
