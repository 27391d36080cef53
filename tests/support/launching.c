// Open MPI 4's launcher handles SIGPIPE until shortly before its end, and still answers ranks then: one that
// is slow to read has gone, and the launcher is killed after its program has ended well. Preloaded, this has
// it ignore the signal first, which is what it goes back to. It starts ranks with the signal's default.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>

__attribute__((constructor)) static void begin(void) {
  static const char *const launchers[] = {"mpiexec", "mpirun", "orterun"};
  for (int i = 0; i < 3; ++i)
    if (strncmp(program_invocation_short_name, launchers[i], strlen(launchers[i])) == 0)
      signal(SIGPIPE, SIG_IGN);
}
