// Opens the MPI library for itself alone, as a language binding does, and asks for functions by name:
// `opened LIBRARY`. Built with -Wl,--as-needed, so that it links none.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(void *where, const char *name) {
  void *found = dlsym(where, name);
  if (!found) {
    fprintf(stderr, "%s is not there\n", name);
    exit(1);
  }
  return found;
}

int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
#ifdef OPEN_MPI
  MPI_Comm world = find(library, "ompi_mpi_comm_world");
  MPI_Datatype integer = find(library, "ompi_mpi_int");
#else
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Datatype integer = MPI_INT;
#endif
  int (*init)(int *, char ***), (*finalize)(void), (*rank_of)(MPI_Comm, int *);
  int (*sendrecv)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                  MPI_Status *);
  // The first definition of all: where something is preloaded, that.
  void *where = dlsym(RTLD_DEFAULT, "MPI_Init") ? RTLD_DEFAULT : library;
  *(void **)&init = find(where, "MPI_Init");
  *(void **)&finalize = find(where, "MPI_Finalize");
  *(void **)&rank_of = find(where, "MPI_Comm_rank");
  *(void **)&sendrecv = find(where, "MPI_Sendrecv");
  int rank, out[9] = {0}, in[9];
  init(&argc, &argv);
  rank_of(world, &rank);
  for (int i = 0; i < 3; i++)
    sendrecv(out, 9, integer, 1 - rank, 0, in, 9, integer, 1 - rank, 0, world, MPI_STATUS_IGNORE);
  finalize();
  if (rank == 0) printf("end\n");
  return 0;
}
