// A program that starts others. What children do is not the program's communication.
#include "common.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ring(const char *name, int count) {
  REGION(name)
  MPI_Sendrecv(buffer, count, MPI_INT, (rank + 1) % size, 0, other, count, MPI_INT, (rank + size - 1) % size,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void await(pid_t child) {
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void replaced(void) {
  char *arguments[] = {(char *)"true", NULL};
  pid_t child = fork();
  if (child == 0) execv("/bin/true", arguments), _exit(1);
  await(child);
  CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
  await(child);
  CHECK(system("true") == 0);
}

static void leaving(void) {
  pid_t child = fork();
  if (child == 0) exit(0);
  await(child);
}

// Markers are no MPI: a child may pass them as well.
static void marking(void) {
  pid_t child = fork();
  if (child == 0) {
    char name[16];
    for (int i = 0; i < 1000; i++) {
      snprintf(name, sizeof name, "child %d", i);
      REGION(name) HALOSCOPE_VALUE("x", 1.0);
    }
    exit(0);
  }
  ring("beside a child", 7);
  await(child);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  ring("first", 1);
  REGION("replaced") replaced();
  ring("second", 2);
  REGION("leaving") leaving();
  ring("third", 3);
  if (!strcmp(argv[1], "marking")) REGION("marking") marking();
  ring("fourth", 4);
  char name[16];
  for (int i = 0; i < 100; i++) snprintf(name, sizeof name, "later %d", i), ring(name, 5);
  MPI_Finalize();
  if (rank == 0) puts("end");
  return 0;
}
