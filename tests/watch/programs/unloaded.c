// unloaded LIBRARY...: loads each library, calls it, and unloads it, one after the other. Prints `same` if
// all of them lay at the same addresses. With ALONE there are none, and it calls its own.
#include <mpi.h>

#define TEN_TIMES for (int i = 0; i < 10; i++)

#if defined(FIRST)
void work(void) {
  TEN_TIMES MPI_Barrier(MPI_COMM_WORLD); // first
}
#elif defined(SECOND)
void work(void) {
  TEN_TIMES MPI_Barrier(MPI_COMM_WORLD); // second
}
#elif defined(ALONE)
__attribute__((noinline)) static void work(void) {
  TEN_TIMES MPI_Barrier(MPI_COMM_WORLD); // alone
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  work();
  MPI_Finalize();
  return 0;
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *before = NULL;
  int same = 1;
  MPI_Init(&argc, &argv);
  for (int i = 1; i < argc; i++) {
    void *library = dlopen(argv[i], RTLD_NOW);
    void *work = dlsym(library, "work");
    ((void (*)(void))work)();
    same &= i == 1 || before == work;
    before = work;
    dlclose(library);
  }
  if (same) puts("same");
  MPI_Finalize();
  return 0;
}
#endif
