// `memory PARTNERS SIZES`: each rank exchanges messages of SIZES sizes with PARTNERS ranks, in 20 regions.
// It prints the maximum over ranks of the KiB in memory: those of records, and all private memory.
#include "common.h"

static int kibibytes(const char *what, const char *where) {
  char line[8192], name[64];
  int sum = 0, counts = 0, value;
  FILE *maps = fopen("/proc/self/smaps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    // Of each mapping first its addresses and its file, then lines "Name: value kB".
    if (sscanf(line, "%63[A-Za-z_]: %d", name, &value) != 2)
      counts = strstr(line, "VmFlags:") == line ? 0 : strstr(line, where) != NULL;
    else if (counts && !strcmp(name, what))
      sum += value;
  }
  fclose(maps);
  return sum;
}

static void exchange(int partners, int sizes) {
  for (int far = 1; far <= partners; far++) // half of them at each side
    for (int bytes = 1; bytes <= sizes; bytes++) {
      int side = far % 2 ? (far + 1) / 2 : size - far / 2;
      MPI_Sendrecv(buffer, bytes, MPI_CHAR, (rank + side) % size, 0, other, bytes, MPI_CHAR,
                   (rank + size - side) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
  char name[32];
  int mine[2], most[2];
  start(&argc, &argv);
  CHECK(argc == 3);
  for (int region = 0; region < 20; region++) {
    snprintf(name, sizeof name, "region %d", region);
    REGION(name) exchange(atoi(argv[1]), atoi(argv[2]));
  }
  mine[0] = kibibytes("Rss", ".live"), mine[1] = kibibytes("Private_Dirty", "");
  MPI_Reduce(mine, most, 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d %d\n", most[0], most[1]);
  MPI_Finalize();
  return 0;
}
