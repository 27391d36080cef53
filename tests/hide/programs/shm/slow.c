/* Preloaded between the shm library and MPI. The library measures by a synthetic clock in the file
 * SLOW_CLOCK, which the ranks share. Each send advances it: by SLOW_US for sends of SLOW_FROM to SLOW_TO
 * bytes, else by a microsecond. The shm library's tokens are short, and messages that it leaves to MPI are
 * long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long *nanoseconds;

__attribute__((constructor)) static void share(void) {
  const int file = open(getenv("SLOW_CLOCK"), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof *nanoseconds) != 0) abort();
  nanoseconds = mmap(NULL, sizeof *nanoseconds, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (nanoseconds == MAP_FAILED) abort();
  close(file);
}

/* MPI has the real clock. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  Dl_info caller;
  if (nanoseconds == NULL || !dladdr(__builtin_return_address(0), &caller) ||
      strstr(caller.dli_fname, "libhaloscope-shm") == NULL)
    return (int)syscall(SYS_clock_gettime, clock, time);
  const long now = 1000000000 + atomic_load(nanoseconds); /* the library takes 0 for no time */
  *time = (struct timespec){now / 1000000000, now % 1000000000};
  return 0;
}

static void take(int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  const long bytes = (long)size * count;
  const int is_slow = bytes >= atol(getenv("SLOW_FROM")) && bytes <= atol(getenv("SLOW_TO"));
  atomic_fetch_add(nanoseconds, 1000 * (is_slow ? atol(getenv("SLOW_US")) : 1));
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  take(count, type);
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  take(count, type);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
