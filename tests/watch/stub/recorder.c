/* Stands in for the recorder in tests of what starts it: every rank notes where it ran and with what
 * settings, and rank 0 writes a profile of one line. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef OPEN_MPI /* preloaded into the launcher as well, which has no handles */
#pragma weak ompi_mpi_comm_world
#endif

static char live[4096];

static const char *setting(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static void started(void) {
  const char *base = *setting("HALOSCOPE_LIVE") ? setting("HALOSCOPE_LIVE") : "/dev/shm";
  int rank, size;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(live, sizeof live, "%s/haloscope-%s", base, setting("HALOSCOPE_RUN"));
  mkdir(live, 0700);
  size_t length = strlen(live);
  snprintf(live + length, sizeof live - length, "/%d.live", rank);
  FILE *file = fopen(live, "w");
  if (file) {
    fprintf(file, "rank %d of %d\n%s\n", rank, size, setting("HALOSCOPE_OUTPUT"));
    fclose(file);
  }
}

static void note(const char *path) {
  char host[256] = "";
  gethostname(host, sizeof host);
  FILE *file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "%s\n%s\n%s\n%s", host, setting("HALOSCOPE_COMMAND"), setting("HALOSCOPE_MEMORY"),
          setting("HALOSCOPE_SERIES"));
  fclose(file);
}

int MPI_Init(int *argc, char ***argv) {
  int status = PMPI_Init(argc, argv);
  started();
  return status;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  int status = PMPI_Init_thread(argc, argv, required, provided);
  started();
  return status;
}

int MPI_Finalize(void) {
  char path[4096];
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d", setting("HALOSCOPE_OUTPUT"), rank);
  note(path);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) note(setting("HALOSCOPE_OUTPUT"));
  unlink(live);
  return PMPI_Finalize();
}
