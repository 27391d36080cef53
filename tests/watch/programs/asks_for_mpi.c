/* asks_for_mpi LIBRARY PLUGIN: asks by name whether there is an MPI, before and after it opens the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static const char *names[] = {"MPI_Get_version", "MPI_Init", "mpi_init_", "MPI_SEND", "MPIX_Comm_shrink"};

static void ask(const char *when, void *where) {
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    printf("%s %s %d\n", when, names[i], dlsym(where, names[i]) != NULL);
}

int main(int argc, char **argv) {
  void *all = dlopen(NULL, RTLD_LAZY);
  ask("default", RTLD_DEFAULT), ask("program", all);
  /* Its plugin refers to MPI weakly: a library that is used with and without MPI. */
  void *plugin = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
  int (*is_running)(void) = plugin ? (int (*)(void))dlsym(plugin, "is_running") : NULL;
  if (is_running) printf("running %d\n", is_running());
  void *own = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  ask("own", own), ask("default", RTLD_DEFAULT);
  void *shared = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
  printf("%d\n", shared != NULL);
  ask("default", RTLD_DEFAULT);
  return 0;
}
