// MPICH's processes poll while they wait, and Debian's 4.0 cannot be told to yield: where ranks outnumber the
// cores a message takes milliseconds, as who has it to send is not on one. Preloaded, this has them sleep as
// soon as nothing came for a while, and longer where nothing comes at all.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

enum { PATIENCE = 200, LONG = 2000, SHORT_SLEEP = 1, LONG_SLEEP = 1000000 }; // polls, nanoseconds

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*progress)(void *);
  static _Thread_local unsigned idle;
  if (!progress) progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (!progress) { // MPI was loaded later, for itself
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    progress = (unsigned (*)(void *))dlsym(library, "ucp_worker_progress");
  }
  const unsigned came = progress(worker);
  idle = came ? 0 : idle + 1;
  if (idle > PATIENCE) nanosleep(&(struct timespec){.tv_nsec = idle > LONG ? LONG_SLEEP : SHORT_SLEEP}, NULL);
  return came;
}

// It also takes the buffer of the standard output, so that puts() writes a line in two pieces, between which
// those of other ranks come.
void setbuf(FILE *stream, char *buffer) {
  static char line[BUFSIZ];
  if (stream == stdout && buffer == NULL)
    setvbuf(stream, line, _IOLBF, sizeof line);
  else
    setvbuf(stream, buffer, buffer == NULL ? _IONBF : _IOFBF, BUFSIZ);
}
